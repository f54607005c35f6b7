package contracts

import (
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

const ebsSource = "https://docs.aws.amazon.com/ebs/latest/userguide/ebs-direct-api-idempotency.html"

// ebsTokenKept is how long EBS keeps a token. No time is documented: chosen here.
const ebsTokenKept = 24 * time.Hour

// snapshots are the contracts of the EBS direct APIs. Not documented, and therefore chosen here: the token's
// lifetime, its scope (the region) and what answers a token in work (a conflict).
func snapshots() []bench.Contract {
	ebs := bench.Terms{Key: bench.KeyTerms{
		Location: "body:ClientToken", MaxLength: 255, Scope: "account+region",
		Retention: ebsTokenKept, ClockStart: "first-seen",
		Fingerprint: "params", Mismatch: "conflict", Concurrent: "conflict",
		Saves: "success", Replay: "stored",
	}}
	described := ebs
	described.LookUp = bench.LookUpTerms{Kind: "bounded", By: "identity", Lag: 5 * time.Minute}
	return []bench.Contract{
		honest("ebs-start-snapshot", "snapshots", "A token per region; other parameters under it are a conflict; no look-up. Its lifetime is not documented: here 24 h.", ebsSource, ebs),
		honest("ebs-start-snapshot-described", "snapshots", "As ebs-start-snapshot, and found by a tag through EC2's DescribeSnapshots within 5 min.",
			ebsSource+" and https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html", described),
	}
}
