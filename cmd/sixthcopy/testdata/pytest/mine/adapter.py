"""A system as a team has one: a POST, and a loop round it."""

import sys
import urllib.error
import urllib.request

import sixthcopy_kit as kit


def call(c):
    url, headers, body = kit.request(c)
    for attempts_left in (3, 2, 1, 0):
        try:
            with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
                return kit.read(answer.status, answer.read(), c)
        except urllib.error.HTTPError as error:
            return kit.read(error.code, error.read(), c)
        except OSError as error:
            if "again" not in sys.argv or not attempts_left:
                return kit.raised(error)


kit.main(call)
