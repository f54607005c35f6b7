package contracts

import (
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// githubSource: the two refusals are reported by those who met them, the reference names neither. That nothing
// protects issues, comments, deployments and draft releases is an absence: no source says so.
const githubSource = "https://docs.github.com/rest; release: https://github.com/googleapis/release-please/issues/945; " +
	"pull request: https://github.com/Financial-Times/nori/issues/65"

// repository is GitHub. It has no idempotency key; a second release of a tag, a second open pull request of the
// same branches and a second ref of a name are refused.
func repository() []bench.Contract {
	github := bench.Terms{
		Unique: map[string][]string{
			"release":      {"repository", "tag"},
			"pull_request": {"repository", "head", "base"},
			"ref":          {"repository", "ref"},
		},
		LookUp: bench.LookUpTerms{Kind: "lags", By: "identity", LagReads: 1},
	}
	lagging := github
	lagging.LookUp = bench.LookUpTerms{Kind: "lags", By: "identity", Lag: time.Hour}
	return []bench.Contract{
		honest("github", "repository", "No key; one release a tag, one open pull request a pair of branches, one ref a name. "+
			"A reference in the body is found in lists; how soon is not documented: here by the second look, in searches 1 min later (choices).", githubSource, github),
		honest("github-lagging-lists", "repository", "As github, but lists show what was made some time later (here 1 h, a choice); no limit is documented.", githubSource, lagging),
	}
}
