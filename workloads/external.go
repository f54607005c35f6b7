package workloads

import (
	"regexp"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/sixthcopy/sixthcopy/bench"
)

// This file is the form of workloads at a provider that the harness did not make: the file itself declares the
// provider, its tools and its oracle, and so the words that the rest of it may use.

var (
	argumentName = &pattern{regexp.MustCompile(`^[a-z][a-z0-9_]*$`), "a name of small letters, digits and _"}
	duration     = &pattern{regexp.MustCompile(`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`), "a time like 500ms, 30s, 24h"}
	httpURL      = &pattern{regexp.MustCompile(`^https?://[^/?#@\s]+(/[^?#\s]*)?$`), "an address like http://127.0.0.1:8080 or https://staging.example.com/api, without a query"}
	listURL      = &pattern{regexp.MustCompile(`^https?://[^/?#@\s]+(/\S*)?$`), "an address like http://127.0.0.1:8080/refunds?limit=100"}
	pathOnly     = &pattern{regexp.MustCompile(`^/[^?#\s]*$`), "a path that begins with /; parameters go into query"}
	pathQuery    = &pattern{regexp.MustCompile(`^/[^#\s]*$`), "a path that begins with /"}
	keyPlace     = &pattern{regexp.MustCompile(`^(header|body|form|query):[A-Za-z0-9_.-]+$`), "header:NAME, body:NAME, form:NAME or query:NAME"}
	sqlite       = &pattern{regexp.MustCompile(`^sqlite:.+$`), "sqlite:PATH; another database is read by a command"}
)

func like(p *pattern, doc string) *form {
	return &form{kind: text, match: p, min: 1, max: 4000, doc: doc}
}

func fieldsOf(doc string, fields ...field) *form {
	return &form{kind: mapping, doc: doc, fields: fields}
}

func needed(name string, f *form) field { return field{name: name, form: f, required: true} }
func maybe(name string, f *form) field  { return field{name: name, form: f} }

func textTable(doc string) *form {
	return &form{kind: table, of: &form{kind: text, max: 4000}, min: 1, max: 100, doc: doc}
}

// externalProvider is the form of provider in such a file.
func externalProvider() *form {
	key := fieldsOf("Deduplication by a key of the caller's.",
		needed("location", like(keyPlace, "Where the key goes: header:Idempotency-Key.")),
		needed("retention", like(duration, "How long a key is kept.")),
		maybe("syntax", words("sf-string", "uuid").said("How it is spelt: a quoted string (RFC 9651), or a UUID. Default as it is.")),
		maybe("required", trueOrFalse("A change without a key is refused. Default false.")),
		maybe("saves", words("success", "final", "executed").said("Which answers are kept under it: of success (default), refusals too (final), failures of its own too (executed).")))
	terms := fieldsOf("What the provider promises, in the words of docs/contracts.md.",
		maybe("key", key),
		maybe("look_up", fieldsOf("What a look-up tells.",
			needed("kind", words("authoritative", "lags").said("A negative answer is proof (authoritative), or it is none, since new objects show late without a documented limit (lags).")),
			needed("by", words("identity", "attributes").said("By a reference of the caller's, or by business attributes only.")))),
		maybe("unique", &form{kind: table, match: slotName, of: &form{kind: list, of: anyText(), min: 1, max: 20}, min: 1, max: 20,
			doc: "Effect class -> attributes under a unique constraint: a second one is refused."}),
		maybe("commits_within", like(duration, "How long after a lost call it may still commit. Default: no limit is documented.")),
		maybe("naturally_idempotent", trueOrFalse("The same call again leaves the same state. Default false.")))
	attributes := textTable("Attribute -> JSON path in an object.")
	path := func(doc string) *form { return &form{kind: text, min: 1, max: 200, doc: doc} }
	lists := &form{kind: list, min: 1, max: 20, doc: "Lists to GET, one for each class.", of: fieldsOf("",
		needed("url", like(listURL, "Its own address: the upstream's host, or another that is allowed.")),
		maybe("headers", textTable("Headers.")),
		needed("class", name("Class of the objects in it.")),
		maybe("list", path("JSON path of the list. Default: the whole answer.")),
		needed("id", path("JSON path of an object's id.")),
		needed("attributes", attributes),
		maybe("more", path("JSON path of what is true, or not empty, when the list is not complete: an error.")),
		maybe("order", words("oldest-first", "newest-first").said("Default oldest-first.")))}
	oracle := fieldsOf("How what exists is read: one of sql, http and command.",
		maybe("sql", fieldsOf("", needed("database", like(sqlite, "sqlite:PATH.")),
			needed("query", someText("Its columns are id, class, and the attributes; oldest first.")))),
		maybe("http", lists),
		maybe("command", &form{kind: list, of: someText(""), min: 1, max: 100, doc: "A program and its arguments; it prints a JSON list of objects with id, class and attributes, oldest first."}),
		maybe("lag", like(duration, "How long after an answer its effect may take to show, in real time, at most 10s. Default 0s.")))
	return fieldsOf("A provider that is there already.",
		needed("kind", words(bench.KindExternal)),
		needed("upstream", like(httpURL, "Its base address. Beyond loopback only with --allow-host.")),
		needed("contract", oneForm("What it promises.", words("none").said("No key, no look-up, no constraint."), terms)),
		needed("oracle", oracle),
		maybe("warm_up", like(pathQuery, "Path of a GET that changes nothing, for the first exchange of a connection. Default /.")))
}

// externalTool is the form of a tool in such a file: as any tool is offered, and declared as well.
func externalTool(use *form) *form {
	statuses := &form{kind: list, of: between(100, 599, "HTTP status."), min: 1, max: 50}
	path := func(doc string) *form { return &form{kind: text, min: 1, max: 200, doc: doc} }
	argument := fieldsOf("",
		maybe("type", words(bench.ArgumentText, bench.ArgumentNumber, bench.ArgumentEither).said("Default text. A number is a whole one.")),
		maybe("optional", trueOrFalse("Default false.")),
		maybe("free", trueOrFalse("Free text, which a model may put in other words. Default false.")),
		maybe("about", someText("For the model.")))
	declared := []field{
		maybe("about", someText("For the model.")),
		maybe("makes", name("Class of the effect that a call makes. Without it the tool only reads.")),
		needed("arguments", &form{kind: table, match: argumentName, of: argument, min: 1, max: 50, doc: "Arguments by name; what a call makes has attributes of the same names."}),
		maybe("look_up", like(argumentName, "Tool that finds an effect of this one again.")),
		needed("request", fieldsOf("The one request that a call makes. ${ARGUMENT} stands for an argument, ${env.NAME} for a variable of the environment.",
			needed("method", words("GET", "POST", "PUT", "PATCH", "DELETE")),
			needed("path", like(pathOnly, "Below the upstream's address.")),
			maybe("query", textTable("Parameters.")),
			maybe("headers", textTable("Headers.")),
			maybe("json", &form{kind: data, doc: "Body: any JSON. A text that is only ${ARGUMENT} becomes the argument itself."}),
			maybe("form", textTable("Body: a form.")),
			maybe("text", someText("Body: text.")))),
		maybe("answer", fieldsOf("How the answer is read.",
			maybe("done", statuses.said("Statuses of success. Default 2xx.")),
			maybe("refused", &form{kind: list, of: statuses.of, min: 1, max: 50, doc: "Statuses that say that nothing happened. Default 4xx with a JSON object, but for 408, 409 and 429."}),
			maybe("conflict", &form{kind: list, of: statuses.of, min: 1, max: 50, doc: "Statuses that say that another call, or object, is in the way. Default 409."}),
			maybe("receipt", path("JSON path of the id of what was made.")),
			maybe("message", path("JSON path of an error's text.")),
			maybe("found", fieldsOf("Of a tool that reads: the objects that it found.",
				maybe("list", path("JSON path of the list. Default: the whole answer.")),
				needed("id", path("JSON path of an object's id.")),
				maybe("attributes", textTable("Attribute -> JSON path in an object.")),
				maybe("order", words("oldest-first", "newest-first").said("Default oldest-first.")))))),
	}
	return &form{kind: mapping, fields: append(declared, use.fields...)}
}

// isExternal says whether a file is one of these.
func isExternal(root *yaml.Node) bool {
	return textAt(member(root, "provider"), "kind") == bench.KindExternal
}

// member returns the value under a key of a mapping, nil if there is none.
func member(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func textAt(n *yaml.Node, key string) string {
	if m := member(n, key); m != nil && m.Kind == yaml.ScalarNode {
		return m.Value
	}
	return ""
}

// declaredIn is the catalogue that a file itself declares. It reads what it can: what is wrong with the
// declarations is told when the file is read by its form.
func declaredIn(root *yaml.Node, cat Catalogue) Catalogue {
	own := Catalogue{Boundaries: cat.Boundaries, External: true, Tools: map[string]Tool{}, Contracts: map[string]string{}}
	classes := map[string][]Value{}
	types := map[string]Type{bench.ArgumentNumber: Number, bench.ArgumentEither: TextOrNumber}
	tools := member(root, "tools")
	if tools != nil && tools.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(tools.Content); i += 2 {
			t := Tool{Provider: bench.KindExternal, Makes: textAt(tools.Content[i+1], "makes")}
			args := member(tools.Content[i+1], "arguments")
			for j := 0; args != nil && args.Kind == yaml.MappingNode && j+1 < len(args.Content); j += 2 {
				a := Value{Name: args.Content[j].Value, Type: types[textAt(args.Content[j+1], "type")],
					Required: textAt(args.Content[j+1], "optional") != "true", Free: textAt(args.Content[j+1], "free") == "true"}
				if t.Makes != "" {
					if _, known := find(classes[t.Makes], a.Name); !known {
						classes[t.Makes] = append(classes[t.Makes], a)
					}
					if a.Name == referenceArgument {
						t.TakesReference = true
						continue
					}
				}
				t.Args = append(t.Args, a)
			}
			own.Tools[tools.Content[i].Value] = t
		}
	}
	own.Providers = map[string]Provider{bench.KindExternal: {Classes: classes}}
	return own
}

// external decodes the provider of such a file.
func external(v *value, workload string) (use bench.ProviderUse) {
	use.Kind, use.Contract = v.get("kind").text(), "declared/"+workload
	x := bench.External{Upstream: v.get("upstream").text(), WarmUp: v.get("warm_up").text()}
	terms := v.get("contract")
	if terms.text() == "none" {
		use.Contract = "none"
	}
	if key := terms.get("key"); key != nil {
		x.Terms.Key = bench.KeyTerms{Location: key.get("location").text(), Syntax: key.get("syntax").text(), Required: key.get("required").truth(),
			Retention: key.get("retention").time(), Saves: key.get("saves").textOr("success"), Scope: "account"}
	}
	x.Terms.LookUp = bench.LookUpTerms{Kind: terms.get("look_up").get("kind").text(), By: terms.get("look_up").get("by").text()}
	for _, k := range terms.get("unique").names() {
		if x.Terms.Unique == nil {
			x.Terms.Unique = map[string][]string{}
		}
		for _, a := range terms.get("unique").get(k.Value).list() {
			x.Terms.Unique[k.Value] = append(x.Terms.Unique[k.Value], a.text())
		}
	}
	if within := terms.get("commits_within"); within != nil {
		limit := within.time()
		x.Terms.CommitsWithin = &limit
	}
	x.Terms.NaturallyIdempotent = terms.get("naturally_idempotent").truth()
	x.Oracle = outsideOracle(v.get("oracle"))
	use.External = &x
	return use
}

func outsideOracle(v *value) bench.ExternalOracle {
	o := bench.ExternalOracle{LagMS: int(v.get("lag").time().Milliseconds())}
	if q := v.get("sql"); q != nil {
		o.SQL = &bench.SQLOracle{Database: q.get("database").text(), Query: q.get("query").text()}
	}
	for _, l := range v.get("http").list() {
		o.HTTP = append(o.HTTP, bench.HTTPOracle{URL: l.get("url").text(), Headers: l.get("headers").texts(), Class: l.get("class").text(),
			List: l.get("list").text(), ID: l.get("id").text(), Attributes: l.get("attributes").texts(), More: l.get("more").text(),
			Newest: l.get("order").text() == "newest-first"})
	}
	for _, a := range v.get("command").list() {
		o.Command = append(o.Command, a.text())
	}
	return o
}

// declaredTool decodes what a file declares of a tool.
func declaredTool(v *value) *bench.ExternalTool {
	r, a := v.get("request"), v.get("answer")
	t := bench.ExternalTool{About: v.get("about").text(), Makes: v.get("makes").text(), LookUp: v.get("look_up").text(),
		Request: bench.ExternalRequest{Method: r.get("method").text(), Path: r.get("path").text(), Query: r.get("query").texts(),
			Headers: r.get("headers").texts(), JSON: r.get("json").plain(), Form: r.get("form").texts(), Text: r.get("text").text()},
		Answer: bench.ExternalAnswer{Done: a.get("done").numbers(), Refused: a.get("refused").numbers(), Conflict: a.get("conflict").numbers(),
			Receipt: a.get("receipt").text(), Message: a.get("message").text()}}
	for _, k := range v.get("arguments").names() {
		x := v.get("arguments").get(k.Value)
		t.Arguments = append(t.Arguments, bench.ExternalArgument{Name: k.Value, Type: x.get("type").textOr(bench.ArgumentText),
			About: x.get("about").text(), Required: !x.get("optional").truth() && (k.Value != referenceArgument || t.Makes == ""), Free: x.get("free").truth()})
	}
	if f := a.get("found"); f != nil {
		t.Answer.Found = &bench.ExternalFound{List: f.get("list").text(), ID: f.get("id").text(), Attributes: f.get("attributes").texts(),
			Newest: f.get("order").text() == "newest-first"}
	}
	return &t
}

// texts are the fields of a table of texts; nil: there is none.
func (v *value) texts() map[string]string {
	if v == nil {
		return nil
	}
	all := map[string]string{}
	for name, x := range v.fields {
		all[name] = x.text()
	}
	return all
}

func (v *value) numbers() []int {
	var all []int
	for _, x := range v.list() {
		all = append(all, x.number(0))
	}
	return all
}

// time is a duration that was read; the form has seen that it is one.
func (v *value) time() time.Duration {
	d, err := time.ParseDuration(v.text())
	if err != nil {
		return 0
	}
	return d
}

// externalSchema describes such files for editors: names that the file itself declares are any.
func externalSchema(cat Catalogue) schema {
	return fileForm(Catalogue{External: true, Boundaries: cat.Boundaries, Tools: map[string]Tool{}, Contracts: map[string]string{},
		Providers: map[string]Provider{bench.KindExternal: {}}}).schema()
}

// both is the schema of a file of either sort.
func both(suite, own schema) schema {
	return schema{"description": suite["description"], "type": "object",
		"if":   schema{"properties": schema{"provider": schema{"properties": schema{"kind": schema{"const": bench.KindExternal}}, "required": []string{"kind"}}}, "required": []string{"provider"}},
		"then": own, "else": suite}
}

// data reads anything that JSON can hold.
func (r *reader) data(f *form, n *yaml.Node, path string) *value {
	switch n.Kind {
	case yaml.MappingNode:
		return r.mapping(&form{kind: table, of: f}, n, path)
	case yaml.SequenceNode:
		return r.list(&form{kind: list, of: f}, n, path)
	}
	switch n.Tag {
	case "!!bool":
		return r.scalar(&form{kind: truth}, n, path)
	case "!!null":
		return &value{node: n}
	}
	return r.scalar(&form{kind: scalar}, n, path)
}
