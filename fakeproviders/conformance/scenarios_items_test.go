package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// DynamoDB's rules: docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html.

func itemScenarios() []scenario { return slices.Concat(itemTokens(), itemConditions(), itemSends()) }

var dynamoSDKs = []string{"boto3", "aws-sdk-go-v2", "@aws-sdk/client-dynamodb"}

// adding adds points to an account, under a token unless it is "".
func adding(token, points string) step {
	s := step{op: "dynamodb.TransactWriteItems", args: map[string]any{"ReturnConsumedCapacity": "TOTAL", "TransactItems": []any{
		map[string]any{"Update": map[string]any{"TableName": "accounts", "Key": map[string]any{"account": map[string]any{"S": "a-17"}},
			"UpdateExpression": "ADD points :points", "ExpressionAttributeValues": map[string]any{":points": map[string]any{"N": points}}}}}}}
	if token != "" {
		s.args["ClientRequestToken"] = token
	}
	return s
}

// booking books seats under the condition that nobody has.
func booking(guest string, seats ...string) step {
	var puts []any
	for _, seat := range seats {
		puts = append(puts, map[string]any{"Put": map[string]any{"TableName": "seats", "ConditionExpression": "attribute_not_exists(seat)",
			"ReturnValuesOnConditionCheckFailure": "ALL_OLD",
			"Item":                                map[string]any{"flight": map[string]any{"S": "LH400"}, "seat": map[string]any{"S": seat}, "guest": map[string]any{"S": guest}}}})
	}
	return step{op: "dynamodb.TransactWriteItems", args: map[string]any{"TransactItems": puts}}
}

// units names the units in which an answer tells its capacity.
func units(r result) string {
	switch {
	case r.Error != nil:
		return r.String()
	case r.at("ConsumedCapacity", 0, "WriteCapacityUnits") != nil:
		return "ok, write units"
	case r.at("ConsumedCapacity", 0, "ReadCapacityUnits") != nil:
		return "ok, read units"
	}
	return "ok, no units"
}

// inUnits plays two steps and tells in what units they were answered.
func inUnits(first, second step, between func(*stage) error) func(*stage) (string, error) {
	return func(st *stage) (string, error) {
		a, err := st.play(first)
		if err != nil {
			return "", err
		}
		if between != nil {
			if err := between(st); err != nil {
				return "", err
			}
		}
		b, err := st.play(second)
		if err != nil {
			return "", err
		}
		made, err := st.effects()
		return units(a) + "; " + units(b) + "; " + plural(len(made), "effect"), err
	}
}

// itemTokens are the promises of client request tokens.
func itemTokens() []scenario {
	var all []scenario
	replayed, executed := "ok, write units; ok, read units; 1 effect", "ok, write units; ok, write units; 2 effects"
	for _, c := range dynamoSDKs {
		add := func(name, expected string, run func(*stage) (string, error)) {
			all = append(all, scenario{name: name, contract: "dynamodb-transact-write", client: c, expected: expected, run: run})
		}
		token := adding("t-1", "250")
		add("same token, same parameters", replayed, inUnits(token, token, nil))
		add("same token, other parameters", "ok, write units; IdempotentParameterMismatchException 400; 1 effect", inUnits(token, adding("t-1", "300"), nil))
		add("another token, same parameters", executed, inUnits(token, adding("t-2", "250"), nil))
		add("an older token after a newer one", "ok, write units; ok, read units; 2 effects", inUnits(token, token, func(st *stage) error {
			_, err := st.succeed(adding("t-2", "250"))
			return err
		}))
		add("the caller gives no token, twice", executed+"; tokens that the SDK made, UUIDs", func(st *stage) (string, error) {
			seen, err := inUnits(adding("", "250"), adding("", "250"), nil)(st)
			return seen + "; " + madeTokens(st), err
		})
		add("same token after 9 min 59 s", replayed, inUnits(token, token, pass(10*time.Minute-time.Second)))
		add("same token after 10 min 1 s", executed, inUnits(token, token, pass(10*time.Minute+time.Second)))
		add("same token, 14 min after the first came and 9 min after it was completed", "ok, write units, then ok, read units; 1 effect", func(st *stage) (string, error) {
			h := st.gate.hold(bench.BeforeCommit, 1)
			work := st.begin(token)
			if err := st.reached(h); err != nil {
				return "", err
			}
			st.clock.pass(5 * time.Minute)
			h.release(bench.Action{Act: bench.Pass})
			a, err := work.end()
			if err != nil {
				return "", err
			}
			st.clock.pass(9 * time.Minute)
			b, err := st.play(token)
			if err != nil {
				return "", err
			}
			made, err := st.effects()
			return units(a) + ", then " + units(b) + "; " + plural(len(made), "effect"), err
		})
		add("the first is in work", "TransactionInProgressException 400; the first: ok, 1 effect", func(st *stage) (string, error) { return st.second(token, token) })
		add("the provider crashed under the first", "2 sends under 1 key, 1 effect, ok", meets(1, bench.BeforeCommit, bench.Action{Act: bench.CrashAct},
			func(st *stage) (string, error) { return st.tell(token) }))
		add("the first failed (500) at all its sends", "InternalServerError 500; ok, write units; 1 effect", func(st *stage) (string, error) {
			st.gate.meet(bench.BeforeCommit, bench.Action{Act: bench.Fail, Status: 500}, 1, 2, 3, 4)
			return inUnits(token, token, nil)(st)
		})
		add("a token of 37 characters", sqsError(c, "ValidationException"), func(st *stage) (string, error) {
			r, err := st.play(adding(strings.Repeat("t", 37), "250"))
			return r.String(), err
		})
	}
	return all
}

// itemConditions are what a condition does for the writes of one transaction.
func itemConditions() []scenario {
	var all []scenario
	for _, c := range dynamoSDKs {
		add := func(name, expected string, run func(*stage) (string, error)) {
			all = append(all, scenario{name: name, contract: "dynamodb-transact-write-condition", client: c, expected: expected, run: run})
		}
		add("two seats, of which one is taken", "TransactionCanceledException 400, reasons None and ConditionalCheckFailed, the seat is omar's; 1 effect",
			func(st *stage) (string, error) {
				if _, err := st.succeed(booking("omar", "12B")); err != nil {
					return "", err
				}
				r, err := st.play(booking("ines", "12A", "12B"))
				if err != nil {
					return "", err
				}
				words := r.String()
				if r.Error != nil {
					words += fmt.Sprintf(", reasons %v and %v", at(r.Error.More, "CancellationReasons", 0, "Code"), at(r.Error.More, "CancellationReasons", 1, "Code"))
					if guest := at(r.Error.More, "CancellationReasons", 1, "Item", "guest"); guest != nil {
						value := at(guest, "S") // a text, or a value of the SDK's own type
						if value == nil {
							value = at(guest, "Value")
						}
						words += fmt.Sprintf(", the seat is %v's", value)
					}
				}
				made, err := st.effects()
				return words + "; " + plural(len(made), "effect"), err
			})
		add("the same two seats again, without a token", "ok; then TransactionCanceledException 400, 2 effects", func(st *stage) (string, error) {
			a, err := st.play(booking("ines", "12A", "12B"))
			if err != nil {
				return "", err
			}
			b, err := st.play(booking("ines", "12A", "12B"))
			if err != nil {
				return "", err
			}
			made, err := st.effects()
			return fmt.Sprintf("%s; then %s, %s", a, b, plural(len(made), "effect")), err
		})
	}
	return all
}

// itemSends are the requests that the SDKs send on their own.
func itemSends() []scenario {
	closed := map[string]string{"boto3": "ConnectionClosedError", "aws-sdk-go-v2": "*smithy.OperationError", "@aws-sdk/client-dynamodb": "TimeoutError ECONNRESET"}
	const n = 4 // of DynamoDB; other services' requests are sent three times
	lost := bench.Action{Act: bench.Close}
	var all []scenario
	for _, c := range dynamoSDKs {
		for _, e := range []struct {
			name     string
			at       bench.Point
			act      bench.Action
			expected string
		}{
			{"no request is read to", bench.Received, lost, fmt.Sprintf("%d sends under 1 key, 0 effects, %s", n, closed[c])},
			{"no answer comes back", bench.Committed, lost, fmt.Sprintf("%d sends under 1 key, 1 effect, %s", n, closed[c])},
			{"every answer is a 500", bench.Received, bench.Action{Act: bench.Fail, Status: 500}, fmt.Sprintf("%d sends under 1 key, 0 effects, InternalServerError 500", n)},
		} {
			all = append(all, scenario{name: e.name, contract: "dynamodb-transact-write", client: c, expected: e.expected, slow: true,
				run: func(st *stage) (string, error) {
					st.gate.meet(e.at, e.act)
					if e.at == bench.Committed {
						st.gate.meet(bench.BeforeResponse, e.act) // replays are lost too
					}
					return st.tell(adding("", "250"))
				}})
		}
		all = append(all, scenario{name: "how often it asks while the first is in work", contract: "dynamodb-transact-write", client: c, slow: true,
			expected: plural(n, "send"), run: func(st *stage) (string, error) {
				token := adding("t-1", "250")
				if _, err := st.second(token, token); err != nil {
					return "", err
				}
				return plural(len(st.tap.requests())-1, "send"), nil
			}}, marked("dynamodb-transact-write", c, adding("", "250"), n))
	}
	return all
}
