package contracts

import (
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

const ec2Source = "https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html and " +
	"https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html"

// ec2TokenKept is how long EC2 keeps a token. The present documentation names no time; the user guide of 2013
// said at least 24 hours after the instance was terminated. Chosen here: 24 h past the end, 30 d at most.
const (
	ec2TokenKept    = 30 * 24 * time.Hour
	ec2TokenPastEnd = 24 * time.Hour
)

// instances are the contracts of EC2. The documentation leaves open whether other parameters under a token are
// refused or answered as if they were equal: there is a contract for each. It does not say what answers a token
// in work: here an error ResourceInUse.
func instances() []bench.Contract {
	ec2 := bench.Terms{
		Key: bench.KeyTerms{
			Location: "form:ClientToken", MaxLength: 64, Scope: "account+region+zone",
			Retention: ec2TokenKept, ClockStart: "resource-end", AfterEnd: ec2TokenPastEnd,
			Fingerprint: "params", Mismatch: "400", Concurrent: "conflict",
			Saves: "success", Replay: "current",
		},
		LookUp: bench.LookUpTerms{Kind: "bounded", By: "identity", Lag: 5 * time.Minute},
	}
	silent := ec2
	silent.Key.Mismatch = "silent"
	full := ec2
	full.Capacity = 2
	return []bench.Contract{
		honest("ec2-run-instances", "instances", "A token per region, or per zone where the request names one; other parameters are refused; found by tag or token within 5 min. Not documented: what answers a token in work (here an error), and the token's lifetime (here 24 h past the last instance's end, 30 d at most).", ec2Source, ec2),
		honest("ec2-run-instances-silent", "instances", "As ec2-run-instances, but other parameters under a token are answered with the first instances.", ec2Source, silent),
		honest("ec2-run-instances-full", "instances", "As ec2-run-instances, with room for two instances of a call, which are launched if MinCount allows.", ec2Source, full),
	}
}
