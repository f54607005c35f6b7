package contracts

import (
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

const dynamoSource = "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html"

// items has the contracts of Amazon DynamoDB's transactions. A replay has no header that marks it: the capacity
// that it took is told in read units, where the first answer has write units. That is Replay "current"; with
// "stored" the first answer would come again. Reads with ConsistentRead see what was committed.
func items() []bench.Contract {
	transact := bench.Terms{
		Key: bench.KeyTerms{
			Location: "body:ClientRequestToken", MaxLength: 36, Scope: "account+region",
			Retention: 10 * time.Minute, ClockStart: "completed",
			Fingerprint: "params", Mismatch: "400", Concurrent: "conflict",
			Saves: "success", Replay: "current",
		},
		LookUp: bench.LookUpTerms{Kind: "authoritative", By: "attributes"},
	}
	condition := transact
	condition.Unique = map[string][]string{"item": {"flight", "seat"}}
	return []bench.Contract{
		honest("dynamodb-transact-write", "items", "A token per transaction, kept 10 min from completion; in work: TransactionInProgress; other parameters: IdempotentParameterMismatch; all of the writes or none.", dynamoSource, transact),
		honest("dynamodb-transact-write-condition", "items", "As dynamodb-transact-write, for puts under attribute_not_exists: a seat that is taken stays its holder's, and the answer shows the item.",
			"https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.ConditionExpressions.html", condition),
	}
}
