package workloads

import (
	"encoding/json"
	"fmt"
)

// Schema returns a JSON Schema (draft 2020-12) of a workload file, for editors. It says what can be said
// about one place at a time; that names fit each other is the loader's to check.
func Schema(cat Catalogue) []byte {
	s := both(fileForm(cat).schema(), externalSchema(cat))
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "sixthcopy workload"
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("schema of workloads: %v", err)) // maps of plain values always marshal
	}
	return append(text, '\n')
}

type schema = map[string]any

func (f *form) schema() schema {
	s := schema{}
	if f.doc != "" {
		s["description"] = f.doc
	}
	switch f.kind {
	case mapping:
		f.mappingSchema(s)
	case table:
		s["type"] = "object"
		if f.match != nil {
			s["propertyNames"] = schema{"pattern": f.match.expr.String()}
		}
		if len(f.keys) > 0 {
			s["propertyNames"] = schema{"enum": f.keys}
		}
		s["additionalProperties"] = f.of.schema()
		limits(s, "minProperties", "maxProperties", f)
	case list:
		s["type"] = "array"
		s["items"] = f.of.schema()
		limits(s, "minItems", "maxItems", f)
	case number:
		s["type"], s["minimum"], s["maximum"] = "integer", f.min, f.max
	case truth:
		s["type"] = "boolean"
	case scalar:
		s["type"] = []string{"string", "number"}
	case either:
		var alts []schema
		for _, a := range f.alts {
			alts = append(alts, a.schema())
		}
		s["anyOf"] = alts
	case text:
		s["type"] = "string"
		if len(f.words) > 0 {
			s["enum"] = f.words
		}
		if f.match != nil {
			s["pattern"] = f.match.expr.String()
		}
		limits(s, "minLength", "maxLength", f)
	}
	return s
}

func (f *form) mappingSchema(s schema) {
	properties, required := schema{}, []string{}
	for _, x := range f.fields {
		properties[x.name] = x.form.schema()
		if x.name == f.decides {
			properties[x.name] = schema{"type": "object", "description": x.form.doc} // the rest is in allOf
		}
		if x.required {
			required = append(required, x.name)
		}
	}
	s["type"], s["properties"], s["additionalProperties"] = "object", properties, false
	if f.of != nil {
		s["additionalProperties"] = f.of.schema()
		s["propertyNames"] = schema{"anyOf": []schema{{"enum": f.names()}, {"pattern": f.match.expr.String()}}}
	}
	if len(required) > 0 {
		s["required"] = required
	}
	limits(s, "minProperties", "maxProperties", f)
	var all []schema
	for _, word := range names(f.choices) {
		all = append(all, schema{
			"if":   schema{"properties": schema{f.by: schema{"const": word}}, "required": []string{f.by}},
			"then": schema{"properties": schema{f.decides: f.choices[word].schema()}},
		})
	}
	if len(all) > 0 {
		s["allOf"] = all
	}
}

// names returns the names of the known fields.
func (f *form) names() []string {
	var all []string
	for _, x := range f.fields {
		all = append(all, x.name)
	}
	return all
}

// limits writes the range of a form under its two names.
func limits(s schema, low, high string, f *form) {
	if f.min > 0 {
		s[low] = f.min
	}
	if f.max > 0 {
		s[high] = f.max
	}
}
