package tools

import (
	"encoding/json"
	"net/http"
)

// The snapshots family speaks the EBS direct APIs (docs/providers/snapshots.md): the idempotency key is
// ClientToken in the body. They have no look-up: EC2's DescribeSnapshots finds a snapshot by its tag.

var startSnapshot = &Tool{
	name: "start_snapshot", provider: "snapshots",
	about: "Start a new disk snapshot. A reference of your own lets you find it again.",
	args: []argument{
		{name: "size", kind: number, required: true, about: "Size of the volume in GiB."},
		{name: "description", kind: text, about: "What it is, in free text."},
		{name: "parent", kind: text, about: "Snapshot that it builds on."},
		{name: "reference", kind: text, about: "Your own reference; find_snapshots finds the snapshot by it."},
	},
	lookUp: "find_snapshots", lookUpArgument: "reference",
	class: "snapshot",
	effects: func(a arguments) []map[string]any {
		attrs := a.pick("description", "parent")
		if size, given := a["size"]; given {
			attrs["size"] = size
			if n, ok := whole(size); ok {
				attrs["size"] = n
			}
		}
		return []map[string]any{attrs}
	},
	plan: func(a arguments) []request {
		body := map[string]any{"VolumeSize": a.number("size", 0)}
		for name, field := range map[string]string{"description": "Description", "parent": "ParentSnapshotId"} {
			if given := a.text(name); given != "" {
				body[field] = given
			}
		}
		if reference := a.text("reference"); reference != "" {
			body["Tags"] = []any{map[string]any{"Key": "reference", "Value": reference}}
		}
		r := jsonRequest(http.MethodPost, "/snapshots", "snapshot", body)
		r.keyed = func(r *request, key string) {
			body["ClientToken"] = key
			r.body, _ = json.Marshal(body) // texts and a number: it cannot fail
		}
		return []request{r}
	},
	read: func(r response) outcome {
		o, _ := r.object()
		if r.status/100 == 2 {
			return created(o, "SnapshotId")
		}
		message, _ := o["Message"].(string)
		return r.failed(message)
	},
}

var findSnapshots = &Tool{
	name: "find_snapshots", provider: "snapshots", readOnly: true,
	about: "Find the snapshots that were started with a reference.",
	args:  []argument{{name: "reference", kind: text, required: true, about: "The reference given at the start."}},
	plan: func(a arguments) []request {
		return []request{ec2Tagged("DescribeSnapshots", a.text("reference"))}
	},
	read: func(r response) outcome {
		if r.status/100 != 2 {
			return ec2Failed(r)
		}
		all := []map[string]any{}
		for _, s := range ec2Read(r).Snapshots {
			found := pickGiven(map[string]any{"id": s.ID, "description": s.Description, "state": s.Status, "reference": tagOf(s.Tags, "reference")},
				"id", "description", "state", "reference")
			found["size"] = s.Size
			all = append(all, found)
		}
		return outcome{status: Done, found: all}
	},
}
