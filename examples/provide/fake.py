"""A fake provider for a test: with Fake("stripe-v1") as fake: ..."""

import json
import subprocess
import urllib.request


class Fake:
    def __init__(self, contract):
        self.process = subprocess.Popen(["sixthcopy", "provide", contract], stdout=subprocess.PIPE, text=True)
        said = json.loads(self.process.stdout.readline())  # it comes when the fake can be called
        self.address, self.control = said["address"], said["control"]
        with open(said["token_file"]) as token:
            self.headers = {"Authorization": "Bearer " + token.read()}

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.control + path, data, self.headers, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
