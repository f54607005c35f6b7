import unittest

import boto3
from botocore.exceptions import HTTPClientError
from fake import Fake


class LostTask(unittest.TestCase):
    def test_look_up_and_retry_under_the_token(self):
        with Fake("ecs-run-task") as fake:
            ecs = boto3.client("ecs", endpoint_url=fake.address, region_name="us-east-1",
                               aws_access_key_id="test", aws_secret_access_key="test")

            def run_task():
                return ecs.run_task(cluster="jobs", taskDefinition="report:3", startedBy="order-4821",
                                    clientToken="order-4821")["tasks"][0]["taskArn"]

            def look_up():
                return ecs.list_tasks(cluster="jobs", startedBy="order-4821")["taskArns"]

            # boto3 sends a lost call twice more, under the same token: these answers are lost too.
            fake.ask("POST", "/gate", {"at": "committed", "act": "reset", "op": "RunTask"})
            fake.ask("POST", "/gate", {"at": "before-response", "act": "reset", "op": "RunTask", "times": 2})
            with self.assertRaises(HTTPClientError):
                run_task()
            self.assertEqual(len(fake.ask("GET", "/requests")), 3)
            self.assertEqual(len(fake.ask("GET", "/effects")), 1)

            # A look-up may come too early: the list is only eventually consistent.
            self.assertEqual(look_up(), [])
            fake.ask("POST", "/clock", {"pass": "5m"})
            found = look_up()
            self.assertEqual(found, [e["object"] for e in fake.ask("GET", "/effects")])

            # Under its token the call starts nothing new.
            self.assertEqual([run_task()], found)
            self.assertEqual(len(fake.ask("GET", "/effects")), 1)


if __name__ == "__main__":
    unittest.main()
