package fakeproviders

import (
	"encoding/xml"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// The EC2 query protocol: a form in, XML out (service model 2016-11-15 of botocore; smithy.io/2.0/aws/protocols/
// aws-ec2-query-protocol.html). Lists are numbered from 1: InstanceId.1, Filter.1.Name, Filter.1.Value.2.

const ec2Namespace = "http://ec2.amazonaws.com/doc/2016-11-15/"

// node is an XML element: a text, or elements in order.
type node struct {
	name string
	text string
	kids []node
}

func leaf(name, text string) node         { return node{name: name, text: text} }
func tree(name string, kids ...node) node { return node{name: name, kids: kids} }
func set(name string, items [][]node) node { // a list: each of the items is an element "item"
	n := node{name: name}
	for _, kids := range items {
		n.kids = append(n.kids, node{name: "item", kids: kids})
	}
	return n
}

func (n node) write(b *strings.Builder) {
	b.WriteString("<" + n.name + ">")
	xml.EscapeText(b, []byte(n.text)) // a strings.Builder takes everything
	for _, kid := range n.kids {
		kid.write(b)
	}
	b.WriteString("</" + n.name + ">")
}

// ec2Answer is the answer to an action.
func ec2Answer(x *exchange, kids ...node) answer {
	b := &strings.Builder{}
	b.WriteString(xml.Header + "<" + x.call.Op + `Response xmlns="` + ec2Namespace + `">`)
	leaf("requestId", requestUUID(x.name)).write(b)
	for _, kid := range kids {
		kid.write(b)
	}
	b.WriteString("</" + x.call.Op + "Response>")
	return answer{status: http.StatusOK, kind: "text/xml;charset=UTF-8", body: []byte(b.String())}
}

// ec2Error is an error of a request as the SDKs read it (docs.aws.amazon.com/ec2/latest/devguide/ec2-api-error-codes.html).
func ec2Error(request string, status int, code, message string) answer {
	b := &strings.Builder{}
	b.WriteString(xml.Header)
	tree("Response",
		tree("Errors", tree("Error", leaf("Code", code), leaf("Message", message))),
		leaf("RequestID", requestUUID(request))).write(b)
	return answer{status: status, kind: "text/xml;charset=UTF-8", body: []byte(b.String())}
}

// form reads a query request; nil if the body is no form.
func form(body []byte) url.Values {
	f, err := url.ParseQuery(string(body))
	if err != nil {
		return nil
	}
	return f
}

// numbered reads a list of values: PREFIX.1, PREFIX.2, ...
func numbered(f url.Values, prefix string) []string {
	var all []string
	for n := 1; f.Has(prefix + "." + strconv.Itoa(n)); n++ {
		all = append(all, f.Get(prefix+"."+strconv.Itoa(n)))
	}
	return all
}

// tagsOf reads the tags that a request puts on what it makes of a type; nil: none.
func tagsOf(f url.Values, of string) map[string]any {
	var tags map[string]any
	for n := 1; f.Has("TagSpecification." + strconv.Itoa(n) + ".ResourceType"); n++ {
		spec := "TagSpecification." + strconv.Itoa(n)
		if f.Get(spec+".ResourceType") != of {
			continue
		}
		for k := 1; f.Has(spec + ".Tag." + strconv.Itoa(k) + ".Key"); k++ {
			tag := spec + ".Tag." + strconv.Itoa(k)
			if tags == nil {
				tags = map[string]any{}
			}
			tags[f.Get(tag+".Key")] = f.Get(tag + ".Value")
		}
	}
	return tags
}

func tagSet(o store.Object) node {
	tags, _ := o.Detail["tags"].(map[string]any)
	var items [][]node
	for key, value := range tags {
		v, _ := value.(string)
		items = append(items, []node{leaf("key", key), leaf("value", v)})
	}
	slices.SortFunc(items, func(a, b []node) int { return strings.Compare(a[0].text, b[0].text) })
	return set("tagSet", items)
}

// filter is one of a describe's filters: an object passes if it has one of the values, in which * stands for
// any text and ? for any character.
type filter struct {
	name   string
	values []string
}

func filtersOf(f url.Values) []filter {
	var all []filter
	for n := 1; f.Has("Filter." + strconv.Itoa(n) + ".Name"); n++ {
		name := "Filter." + strconv.Itoa(n)
		all = append(all, filter{f.Get(name + ".Name"), numbered(f, name+".Value")})
	}
	return all
}

func (f filter) passes(value string) bool {
	return slices.ContainsFunc(f.values, func(pattern string) bool { return like(pattern, value) })
}

// like matches a text against a pattern with * and ?, a backslash before one that stands for itself. It
// takes time proportional to the product of the lengths.
func like(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	reached := make([]bool, len(t)+1) // which prefixes of the text the pattern so far matches
	reached[0] = true
	for i := 0; i < len(p); i++ {
		if p[i] == '*' {
			for j := range t {
				reached[j+1] = reached[j+1] || reached[j]
			}
			continue
		}
		whatever := p[i] == '?'
		if p[i] == '\\' && i+1 < len(p) {
			i++
		}
		for j := len(t); j > 0; j-- {
			reached[j] = reached[j-1] && (whatever || t[j-1] == p[i])
		}
		reached[0] = false
	}
	return reached[len(t)]
}

// tagged says of the filters tag:KEY and tag-key whether they are such, and whether the object passes.
func (f filter) tagged(o store.Object) (is, passes bool) {
	tags, _ := o.Detail["tags"].(map[string]any)
	if key, ok := strings.CutPrefix(f.name, "tag:"); ok {
		value, has := tags[key].(string)
		return true, has && f.passes(value)
	}
	if f.name == "tag-key" {
		for key := range tags {
			if f.passes(key) {
				return true, true
			}
		}
		return true, false
	}
	return false, false
}

func ec2Time(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// ec2Page reads MaxResults and NextToken and cuts a page of n things; everything without MaxResults.
func ec2Page(f url.Values, n, least, most int) (from, to int, next string, refused *refusal) {
	size := most
	if text := f.Get("MaxResults"); text != "" {
		var err error
		if size, err = strconv.Atoi(text); err != nil || size < least || size > most {
			r := invalid("MaxResults", "Value ( %.20s ) for parameter maxResults is invalid. Expecting a value between %d and %d.", text, least, most)
			return 0, 0, "", &r
		}
	}
	from, to, next, ok := cutPage(n, size, f.Get("NextToken"))
	if !ok {
		r := invalid("NextToken", "The token '%.60s' is invalid", f.Get("NextToken"))
		return 0, 0, "", &r
	}
	return from, to, next, nil
}
