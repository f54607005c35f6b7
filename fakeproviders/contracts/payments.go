package contracts

import (
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

const (
	stripeSource   = "https://docs.stripe.com/api/idempotent_requests and https://docs.stripe.com/error-low-level"
	stripeV2Source = "https://docs.stripe.com/api-v2-overview#idempotency"
)

func payments() []bench.Contract {
	stripe := bench.Terms{Key: bench.KeyTerms{
		Location: "header:Idempotency-Key", MaxLength: 255, Scope: "account+mode",
		Retention: 24 * time.Hour, ClockStart: "first-seen",
		Fingerprint: "params+path", Mismatch: "400", Concurrent: "conflict",
		Saves: "executed", Replay: "stored", Marker: "Idempotent-Replayed",
	}}
	does := func(change func(*bench.KeyTerms)) bench.Terms {
		t := stripe
		change(&t.Key)
		return t
	}
	final := does(func(k *bench.KeyTerms) { k.Saves = "success" })
	return []bench.Contract{
		honest("stripe-v1", "payments", "A key per account and mode, kept 24 h; executed failures are saved and replayed too. Chosen here: live and test keys are apart, keys are dropped at 24 h (the documented least).", stripeSource, stripe),
		honest("payments-no-key", "payments", "No key, no look-up by an identity.", "planted", bench.Terms{}),
		lying("stripe-v1-unenforced", "payments", "Lies: the key is accepted and ignored.", stripe, bench.Terms{}),
		lying("stripe-v1-forgets-early", "payments", "Lies: the key is kept 1 h instead of 24 h.", stripe, does(func(k *bench.KeyTerms) { k.Retention = time.Hour })),
		lying("stripe-v1-claim-left", "payments", "Lies: a crash leaves a key in work in use for its whole retention, and nobody ends the work.", stripe,
			does(func(k *bench.KeyTerms) { k.InFlight = "durable" })),
		lying("stripe-v1-forgets-on-error", "payments", "Lies: any failure drops the key, though something was committed.", stripe,
			does(func(k *bench.KeyTerms) { k.ForgetsOnError = true })),
		lying("stripe-v1-shared-keys", "payments", "Lies: one key space for all accounts; the second account is answered with what the first one made.", stripe,
			does(func(k *bench.KeyTerms) { k.Scope = "everybody" })),
		lying("stripe-v1-latest-only", "payments", "Lies: a new key makes the account forget the ones before it.", stripe,
			does(func(k *bench.KeyTerms) { k.LatestOnly = true })),
		lying("stripe-v1-failure-cached", "payments", "Lies: says that only successes are saved, and replays failures too.", final, stripe),
	}
}

func outbound() []bench.Contract {
	key := bench.KeyTerms{
		Location: "header:Idempotency-Key", MaxLength: 255, Scope: "account+mode",
		Retention: 30 * 24 * time.Hour, ClockStart: "first-seen",
		Fingerprint: "params+path", Mismatch: "400", Concurrent: "conflict",
		Saves: "resumes", Replay: "stored", Marker: "Idempotent-Replayed",
	}
	return []bench.Contract{
		honest("stripe-v2", "outbound", "A key per account or sandbox, kept 30 d; a failed request is executed again to its end. Chosen here: a mismatch is 400, a key in work 409, keys have at most 255 characters, and lists, of which no limit is documented, lag 1 min.",
			stripeV2Source, bench.Terms{Key: key, LookUp: bench.LookUpTerms{Kind: "lags", By: "attributes", Lag: time.Minute}}),
	}
}
