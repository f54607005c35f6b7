package conformance

import (
	"cmp"
	"flag"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
)

// clients lists the SDKs. To add one: a line here, its package in the manifest of its language, its
// operations in clients/.
var clients = []client{
	{name: "stripe-python", language: "python", family: "stripe", pkg: "stripe"},
	{name: "stripe-python module", language: "python", family: "stripe", pkg: "stripe", alone: true},
	{name: "stripe-node", language: "node", family: "stripe", pkg: "stripe"},
	{name: "stripe-go", language: "go", family: "stripe", pkg: "github.com/stripe/stripe-go/v85"},
	{name: "net/http", language: "go", family: "http", pkg: "net/http"},
	{name: "boto3", language: "python", family: "aws", pkg: "boto3"},
	{name: "aws-sdk-go-v2", language: "go", family: "aws", pkg: "github.com/aws/aws-sdk-go-v2"},
	{name: "@aws-sdk/client-ecs", language: "node", family: "aws", pkg: "@aws-sdk/client-ecs"},
	{name: "@aws-sdk/client-sqs", language: "node", family: "aws", pkg: "@aws-sdk/client-sqs"},
	{name: "@aws-sdk/client-dynamodb", language: "node", family: "aws", pkg: "@aws-sdk/client-dynamodb"},
	{name: "PyGithub", language: "python", family: "github", pkg: "PyGithub"},
	{name: "octokit", language: "node", family: "github", pkg: "octokit"},
	{name: "@octokit/rest", language: "node", family: "github", pkg: "@octokit/rest"},
	{name: "slack_sdk", language: "python", family: "slack", pkg: "slack_sdk"},
	{name: "@slack/web-api", language: "node", family: "slack", pkg: "@slack/web-api"},
	{name: "gocardless_pro", language: "python", family: "payments", pkg: "gocardless_pro"},
	{name: "squareup", language: "python", family: "payments", pkg: "squareup"},
	{name: "Adyen", language: "python", family: "payments", pkg: "Adyen"},
	{name: "increase", language: "python", family: "payments", pkg: "increase"},
	{name: "azure-core", language: "python", family: "payments", pkg: "azure-core"},
	{name: googleClient, language: "python", family: "google", pkg: "google-api-python-client"},
	{name: kubernetesClient, language: "python-kubernetes", family: "kubernetes", pkg: "kubernetes"},
}

// scenario is something that happens between a client and a provider, and what must come of it. The words
// of what is seen are compared; they stand in docs/conformance.md.
type scenario struct {
	name     string              // what happens: "same key, other parameters"
	contract string              // of the provider
	client   string              // a name of clients
	expected string              // by the provider's documentation or by measuring the SDK
	here     string              // what is seen here, where that differs from expected
	why      string              // it differs
	world    []bench.WorldEffect // what is there before
	slow     bool                // the SDK waits before it sends again, which takes seconds

	// run plays it and tells in words what was seen. An error is something that made telling impossible.
	run func(*stage) (string, error)
}

// scenarios lists them all. To add some: a file scenarios_KIND_test.go beside this, a line here.
func scenarios() []scenario {
	return slices.Concat(
		stripeScenarios(),
		paymentScenarios(),
		stripeV2Scenarios(),
		ecsScenarios(),
		ec2Scenarios(),
		awsScenarios(),
		githubScenarios(),
		slackScenarios(),
		ordersScenarios(),
		calendarScenarios(),
		clusterScenarios(),
		queueScenarios(),
		itemScenarios(),
	)
}

// inClientOrder goes through what is expected of each client in the order of clients.
func inClientOrder(expected map[string]string) iter.Seq2[string, string] {
	return func(yield func(client, expected string) bool) {
		for _, c := range clients {
			if e, ok := expected[c.name]; ok && !yield(c.name, e) {
				return
			}
		}
	}
}

// outcome is what became of a scenario.
type outcome struct {
	seen string
	err  error
	took time.Duration
}

// wrong says what is not as it must be, nil if all is.
func (s scenario) wrong(o outcome) error {
	switch want := cmp.Or(s.here, s.expected); {
	case o.err != nil:
		return o.err
	case o.seen != want:
		return fmt.Errorf("seen: %s; expected: %s", o.seen, want)
	}
	return nil
}

// play raises the scenario's provider, changed if asked, and runs the scenario.
func (s scenario) play(kids *children, change func(*bench.Terms)) (o outcome) {
	begun := time.Now()
	defer func() { o.took = time.Since(begun) }()
	c, ok := contracts.Find(s.contract)
	if !ok {
		return outcome{err: broken{fmt.Errorf("contract %q is not there", s.contract)}}
	}
	i := slices.IndexFunc(clients, func(c client) bool { return c.name == s.client })
	if i < 0 {
		return outcome{err: broken{fmt.Errorf("client %q is not there", s.client)}}
	}
	if change != nil {
		change(&c.Actual)
	}
	st, err := newStage(c, clients[i], kids, s.world)
	if err != nil {
		return outcome{err: err}
	}
	o.seen, o.err = s.run(st)
	if err := st.close(); err != nil {
		o.err = err
	}
	return o
}

func (s scenario) id() string { return s.contract + "/" + s.client + "/" + s.name }

// atOnce bounds how many scenarios play at the same time: most of their time is an SDK's waiting.
const atOnce = 16

// playAll plays scenarios at the same time and returns what became of them, in their order.
func playAll(kids *children, all []scenario) []outcome {
	outcomes := make([]outcome, len(all))
	room := make(chan struct{}, atOnce)
	for i, s := range all {
		room <- struct{}{}
		go func() {
			outcomes[i] = s.play(kids, nil)
			<-room
		}()
	}
	for range atOnce {
		room <- struct{}{}
	}
	return outcomes
}

var only = flag.String("only", "", "play only the scenarios whose contract/client/name holds this text")

// ready leaves out the scenarios whose clients are not here, each language by a named skip, and tells whether
// none had to be left out.
func ready(t *testing.T, all []scenario) (here []scenario, complete bool) {
	lacking := map[string]bool{}
	for language := range environments {
		if why := missing(language); why != "" {
			lacking[language] = true
			t.Run(language, func(t *testing.T) { t.Skip(why) })
		}
	}
	here = slices.DeleteFunc(slices.Clone(all), func(s scenario) bool {
		i := slices.IndexFunc(clients, func(c client) bool { return c.name == s.client })
		return i >= 0 && lacking[clients[i].language] || s.slow && testing.Short() || !strings.Contains(s.id(), *only)
	})
	return here, len(here) == len(all)
}

// TestConformance plays every scenario and compares what is seen with what must be, and the whole with
// docs/conformance.md.
func TestConformance(t *testing.T) {
	every := scenarios()
	all, complete := ready(t, every)
	kids := newChildren(t)
	outcomes := playAll(kids, all)
	for i, s := range all {
		t.Run(s.id(), func(t *testing.T) {
			if err := s.wrong(outcomes[i]); err != nil {
				t.Errorf("after %.1f s: %v", outcomes[i].took.Seconds(), err)
			}
		})
	}
	t.Run("docs", func(t *testing.T) {
		if !complete {
			t.Skip("docs/conformance.md is compared when every scenario is played: not with -short or -only, nor without make clients")
		}
		versions, err := installedVersions(kids)
		if err != nil {
			t.Fatal(err)
		}
		section(t, "scenarios", table(all, outcomes, versions))
	})
}

// TestScenarios wants every scenario to be told apart by its name, and to be well described.
func TestScenarios(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range scenarios() {
		switch {
		case seen[s.id()]:
			t.Errorf("%s is there twice", s.id())
		case s.expected == "":
			t.Errorf("%s expects nothing", s.id())
		case (s.here == "") != (s.why == ""), s.here == s.expected:
			t.Errorf("%s: what differs here, and why, go together", s.id())
		}
		seen[s.id()] = true
	}
}
