package declared

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sixthcopy/sixthcopy/bench"
)

var booking = bench.ExternalTool{
	Makes: "booking",
	Arguments: []bench.ExternalArgument{{Name: "guest", Type: "text", Required: true}, {Name: "room", Type: "text", Required: true},
		{Name: "nights", Type: "number", Required: true}, {Name: "note", Type: "text"}},
	Request: bench.ExternalRequest{Method: "POST", Path: "/rooms/${room}/bookings", Query: map[string]string{"for": "${guest}", "v": "2"},
		Headers: map[string]string{"X-Note": "note ${note}"},
		JSON:    map[string]any{"kind": "booking", "row": map[string]any{"nights": "${nights}", "note": "(${note})"}}},
}

func raw(r Request) bench.RawRequest {
	return bench.RawRequest{Method: r.Method, Path: r.Path, Header: r.Header, Body: r.Body}
}

func TestFill(t *testing.T) {
	r, err := Fill(booking.Request, map[string]any{"guest": "ann & co", "room": "1/2", "nights": 2.0, "note": "late"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Path != "/rooms/1%2F2/bookings?for=ann+%26+co&v=2" || string(r.Body) != `{"kind":"booking","row":{"nights":2,"note":"(late)"}}` || r.Header.Get("X-Note") != "note late" {
		t.Errorf("%s %s %v", r.Path, r.Body, r.Header)
	}
	r, err = Fill(booking.Request, map[string]any{"guest": "ann", "room": "12", "nights": 2.0})
	if err != nil || strings.Contains(string(r.Body), "note") || len(r.Header["X-Note"]) > 0 {
		t.Errorf("what holds an argument that is not given is left out: %s %v %v", r.Body, r.Header, err)
	}
	if _, err := Fill(booking.Request, map[string]any{"guest": "ann"}); err == nil {
		t.Error("a path with an argument that is not given was filled in")
	}
	if _, err := Fill(bench.ExternalRequest{Method: "GET", Path: "/", Headers: map[string]string{"Authorization": "Bearer ${env.SIXTHCOPY_NOT_SET}"}}, nil); err == nil || !strings.Contains(err.Error(), "SIXTHCOPY_NOT_SET") {
		t.Errorf("a variable that is not set: %v", err)
	}
	t.Setenv("SIXTHCOPY_TRIED", "secret")
	r, err = Fill(bench.ExternalRequest{Method: "GET", Path: "/", Headers: map[string]string{"Authorization": "Bearer ${env.SIXTHCOPY_TRIED}"}}, nil)
	if err != nil || r.Header.Get("Authorization") != "Bearer secret" {
		t.Errorf("%v %v", r.Header, err)
	}
}

// What was filled in is read back: in path, query, form, JSON and text.
func TestReadsBack(t *testing.T) {
	bodies := map[string]func(*bench.ExternalRequest){
		"json": func(r *bench.ExternalRequest) {
			r.JSON = map[string]any{"a": "${a}", "in": []any{map[string]any{"b": "b:${b}"}, true, nil, 3.0}}
		},
		"form": func(r *bench.ExternalRequest) { r.Form = map[string]string{"a": "${a}", "metadata[b]": "b:${b}"} },
		"text": func(r *bench.ExternalRequest) { r.Text = "a=${a}\nb:${b}\n" },
		"none": func(r *bench.ExternalRequest) { r.Query = map[string]string{"a": "${a}", "b": "${b}", "fixed": "1"} },
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				one := rapid.StringMatching(`[a-zA-Z0-9 äß&=+%/"?#{}$.-]{1,20}`)
				args := map[string]any{"a": one.Draw(t, "a"), "b": one.Draw(t, "b"), "p": one.Draw(t, "p")}
				template := bench.ExternalRequest{Method: "POST", Path: "/x/${p}/y"}
				body(&template)
				r, err := Fill(template, args)
				if err != nil {
					t.Fatal(err)
				}
				got, fits := Match(template, raw(r))
				if !fits || !reflect.DeepEqual(got, args) {
					t.Fatalf("%v became %s %q, read back as %v (%t)", args, r.Path, r.Body, got, fits)
				}
			})
		})
	}
}

// A request that differs in anything that the template fixes is another.
func TestDoesNotFit(t *testing.T) {
	good, err := Fill(booking.Request, map[string]any{"guest": "ann", "room": "12", "nights": 2.0})
	if err != nil {
		t.Fatal(err)
	}
	if _, fits := Match(booking.Request, raw(good)); !fits {
		t.Fatal("the request itself does not fit")
	}
	for name, change := range map[string]func(*Request){
		"method":       func(r *Request) { r.Method = "PUT" },
		"path":         func(r *Request) { r.Path = strings.Replace(r.Path, "bookings", "refunds", 1) },
		"longer path":  func(r *Request) { r.Path = strings.Replace(r.Path, "bookings", "bookings/7", 1) },
		"query":        func(r *Request) { r.Path = strings.Replace(r.Path, "v=2", "v=3", 1) },
		"no query":     func(r *Request) { r.Path = strings.Replace(r.Path, "&v=2", "", 1) },
		"body":         func(r *Request) { r.Body = []byte(strings.Replace(string(r.Body), `"booking"`, `"refund"`, 1)) },
		"no JSON":      func(r *Request) { r.Body = []byte("guest=ann") },
		"lacks member": func(r *Request) { r.Body = []byte(`{"row":{"nights":2}}`) },
	} {
		r := good
		change(&r)
		if args, fits := Match(booking.Request, raw(r)); fits {
			t.Errorf("%s: it fits, with %v", name, args)
		}
	}
}

// Parse tells tools apart that share a path, and types what a form has as text.
func TestParse(t *testing.T) {
	form := func(action string) bench.ExternalTool {
		return bench.ExternalTool{Makes: action, Arguments: []bench.ExternalArgument{{Name: "amount", Type: "number"}},
			Request: bench.ExternalRequest{Method: "POST", Path: "/moves", Form: map[string]string{"action": action, "amount": "${amount}"}}}
	}
	tools := map[string]bench.ExternalTool{"pay": form("payment"), "refund": form("refund"), "list": {Request: bench.ExternalRequest{Method: "GET", Path: "/moves"}}}
	for body, want := range map[string]bench.Call{
		"action=refund&amount=2500":    {Op: "refund", Class: "refund", Mutating: true, Attrs: map[string]any{"amount": int64(2500)}},
		"action=payment&amount=25.00":  {Op: "pay", Class: "payment", Mutating: true, Attrs: map[string]any{"amount": int64(25)}},
		"action=transfer&amount=25.00": {Op: "POST /moves"},
	} {
		if got := Parse(tools, bench.RawRequest{Method: "POST", Path: "/moves?x=1", Body: []byte(body)}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, expected %+v", body, got, want)
		}
	}
	if got := Parse(tools, bench.RawRequest{Method: "GET", Path: "/moves"}); got.Op != "list" || got.Mutating {
		t.Errorf("a read: %+v", got)
	}
}

func TestReceipt(t *testing.T) {
	for body, want := range map[string]string{`{"rows":[{"id":7}]}`: "7", `{"rows":[{"id":"b_7"}]}`: "b_7", `{"rows":[]}`: "", `{"rows":[{"id":null}]}`: "", `no JSON`: "",
		`{"rows":[{"id":12345678901234}]}`: "12345678901234"} {
		if got := Receipt(bench.ExternalAnswer{Receipt: "rows.0.id"}, []byte(body)); got != want {
			t.Errorf("%s: %q, expected %q", body, got, want)
		}
	}
	if ID(json.Number("5")) != "5" || ID(true) != "" {
		t.Error("ids are texts and numbers")
	}
}
