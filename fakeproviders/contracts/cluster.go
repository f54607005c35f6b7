package contracts

import (
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

const (
	kubernetesNames = "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/"
	kubernetesAPI   = "https://kubernetes.io/docs/reference/using-api/api-concepts/#generated-values"
	kubernetesApply = "https://kubernetes.io/docs/reference/using-api/server-side-apply/"
	kubernetesLimit = "https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/ (--request-timeout)"
)

// cluster is one API with three ways to make an object. Reads are strongly consistent. A request that is not
// done within the server's time-out, 1 min unless it is configured otherwise, is given up by it.
func cluster() []bench.Contract {
	named, limit := []string{"namespace", "name"}, within(time.Minute)
	byName := bench.Terms{
		Unique: map[string][]string{"job": named, "config": named, "pod": named, "app": named},
		LookUp: bench.LookUpTerms{Kind: "authoritative", By: "attributes"}, CommitsWithin: limit,
	}
	return []bench.Contract{
		honest("kubernetes-by-name", "cluster", "A name is unique among the objects of a kind in a namespace for as long as its object lives: a second create is refused (409 AlreadyExists) and compares nothing else.", kubernetesNames+" and "+kubernetesLimit, byName),
		honest("kubernetes-generate-name", "cluster", "Every create makes an object with a name of its own. Found by a label at once; a create commits within 1 min or not at all.", kubernetesAPI+" and "+kubernetesLimit,
			bench.Terms{LookUp: bench.LookUpTerms{Kind: "authoritative", By: "identity"}, CommitsWithin: limit}),
		honest("kubernetes-apply", "cluster", "Server-side apply: the same configuration again changes nothing.", kubernetesApply,
			bench.Terms{NaturallyIdempotent: true, LookUp: bench.LookUpTerms{Kind: "authoritative", By: "attributes"}, CommitsWithin: limit}),
	}
}
