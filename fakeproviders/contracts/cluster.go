package contracts

import "github.com/sixthcopy/sixthcopy/bench"

const (
	kubernetesNames = "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/"
	kubernetesAPI   = "https://kubernetes.io/docs/reference/using-api/api-concepts/#generated-values"
	kubernetesApply = "https://kubernetes.io/docs/reference/using-api/server-side-apply/"
)

// cluster is one API with three ways to make an object. Reads are strongly consistent.
func cluster() []bench.Contract {
	named := []string{"namespace", "name"}
	byName := bench.Terms{
		Unique: map[string][]string{"job": named, "config": named, "pod": named, "app": named},
		LookUp: bench.LookUpTerms{Kind: "authoritative", By: "attributes"},
	}
	return []bench.Contract{
		honest("kubernetes-by-name", "cluster", "A name is unique among the objects of a kind in a namespace for as long as its object lives: a second create is refused (409 AlreadyExists) and compares nothing else.", kubernetesNames, byName),
		honest("kubernetes-generate-name", "cluster", "Every create makes an object with a name of its own. Found by a label at once; how late a lost create may still commit is not documented.", kubernetesAPI,
			bench.Terms{LookUp: bench.LookUpTerms{Kind: "authoritative", By: "identity"}}),
		honest("kubernetes-apply", "cluster", "Server-side apply: the same configuration again changes nothing.", kubernetesApply,
			bench.Terms{NaturallyIdempotent: true}),
	}
}
