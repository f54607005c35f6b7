package workloads

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"gopkg.in/yaml.v3"
)

const externalPage = "../docs/bring-your-own-provider.md"

// Each whole workload of the page is read, is one that the schema takes, and comes through JSON as it was.
func TestExternalWorkloads(t *testing.T) {
	schema := compile(t, Schema(Known()))
	var whole []bench.Workload
	for _, b := range block.FindAllStringSubmatch(string(read(t, externalPage)), -1) {
		if b[1] != "yaml" || !strings.Contains(b[2], "\nname: ") {
			continue
		}
		w, err := Parse("file.yaml", []byte(b[2]), Known())
		if err != nil {
			t.Fatal(err)
		}
		var content any
		if err := yaml.Unmarshal([]byte(b[2]), &content); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(asJSON(t, content)); err != nil {
			t.Errorf("%s: %v", w.Name, err)
		}
		text, err := Canonical(w)
		if err != nil {
			t.Fatal(err)
		}
		var back bench.Workload
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(w, back) {
			t.Errorf("%s: not the same after a trip through JSON:\n%+v\n%+v", w.Name, w, back)
		}
		whole = append(whole, w)
	}
	if len(whole) != 2 {
		t.Fatalf("%d whole workloads on the page, expected 2", len(whole))
	}
	plain, found := whole[0], whole[1]
	if plain.Provider.Contract != "none" || !reflect.DeepEqual(plain.Provider.External.Terms, bench.Terms{}) {
		t.Errorf("contract none: %+v", plain.Provider)
	}
	terms := found.Provider.External.Terms
	if found.Provider.Contract != "declared/booking-reference" || terms.LookUp.Kind != "authoritative" || terms.LookUp.By != "identity" || *terms.CommitsWithin != 10*time.Second {
		t.Errorf("declared contract: %+v", terms)
	}
	tool := plain.Tools["book_room"].External
	row := tool.Request.JSON.(map[string]any)["row"].(map[string]any)
	if tool.Makes != "booking" || tool.Answer.Receipt != "rows.0.id" || row["nights"] != "${nights}" || tool.Request.JSON.(map[string]any)["return"] != true {
		t.Errorf("declared tool: %+v", tool)
	}
	for _, a := range tool.Arguments {
		if a.Required == (a.Name == "note") || a.Free != (a.Name == "note") || (a.Type == bench.ArgumentNumber) != (a.Name == "nights") {
			t.Errorf("argument %+v", a)
		}
	}
	for _, a := range found.Tools["book_room"].External.Arguments {
		if a.Name == "reference" && a.Required {
			t.Error("a reference is the system's to fill or not: no call without it is refused")
		}
	}
}

// What a contract says comes through, all of it.
func TestExternalContract(t *testing.T) {
	page := string(read(t, externalPage))
	text := regexp.MustCompile(`(?s)# booking.yaml\n(.*?)` + "```").FindStringSubmatch(page)[1]
	text = strings.Replace(text, "contract: none", `contract:
    key: {location: "header:Idempotency-Key", retention: 24h, syntax: uuid, required: true, saves: executed}
    look_up: {kind: lags, by: attributes}
    unique: {booking: [room, guest]}
    naturally_idempotent: true`, 1)
	text = strings.Replace(text, "    errors: typed", "    errors: typed\n    key: argument", 1)
	w, err := Parse("file.yaml", []byte(text), Known())
	if err != nil {
		t.Fatal(err)
	}
	want := bench.Terms{Key: bench.KeyTerms{Location: "header:Idempotency-Key", Retention: 24 * time.Hour, Syntax: "uuid", Required: true, Saves: "executed", Scope: "account"},
		LookUp: bench.LookUpTerms{Kind: "lags", By: "attributes"}, Unique: map[string][]string{"booking": {"room", "guest"}}, NaturallyIdempotent: true}
	if got := w.Provider.External.Terms; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nexpected %+v", got, want)
	}
}

// Every field and every word that such a file may have beside the others is explained on the page.
func TestExternalPageIsComplete(t *testing.T) {
	page := string(read(t, externalPage))
	var walk func(f *form)
	walk = func(f *form) {
		if f == nil || f.kind == data {
			return
		}
		for _, word := range append(f.names(), f.words...) {
			if strings.ToUpper(word) != word && !strings.Contains(page, "`"+word) {
				t.Errorf("%s does not explain `%s`", externalPage, word)
			}
		}
		for _, x := range f.fields {
			walk(x.form)
		}
		for _, a := range f.alts {
			walk(a)
		}
		walk(f.of)
	}
	walk(externalProvider())
	walk(externalTool(&form{kind: mapping}))
}
