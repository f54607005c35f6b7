package fakeproviders

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// snapshots speaks the EBS direct APIs (rest-json): StartSnapshot with its ClientToken, CompleteSnapshot. They
// have no look-up of their own; DescribeSnapshots of the EC2 query wire is answered at the same address.
// Rules: docs.aws.amazon.com/ebs/latest/userguide/ebs-direct-api-idempotency.html; shapes: the service model
// 2019-11-02 of botocore.
type snapshots struct{ regionScoped }

func (snapshots) Name() string { return "snapshots" }
func (snapshots) Summary() string {
	return "disk snapshots over the EBS direct wire (JSON), described over the EC2 query wire"
}

func (snapshots) Parse(r bench.RawRequest) bench.Call {
	path, _ := target(r)
	switch {
	case r.Method != http.MethodPost:
		return bench.Call{Op: "unknown"}
	case len(path) == 1 && path[0] == "snapshots":
		m := fields(r.Body)
		return bench.Call{Op: "StartSnapshot", Class: "snapshot", Mutating: true,
			Attrs: pick(map[string]any{"size": m["VolumeSize"], "description": m["Description"], "parent": m["ParentSnapshotId"]}, "size", "description", "parent")}
	case len(path) == 3 && path[0] == "snapshots" && path[1] == "completion":
		return bench.Call{Op: "CompleteSnapshot", Class: "completion", Mutating: true, Attrs: map[string]any{"snapshot": path[2]}}
	case path[0] == "":
		return bench.Call{Op: firstText(form(r.Body).Get("Action"), "unknown")}
	}
	return bench.Call{Op: "unknown"}
}

func (s snapshots) execute(x *exchange) (answer, error) {
	switch x.call.Op {
	case "StartSnapshot":
		return s.start(x), nil
	case "CompleteSnapshot":
		return s.complete(x)
	case "DescribeSnapshots":
		return s.describe(x, form(x.raw.Body))
	}
	if path, _ := target(x.raw); path[0] == "" && x.raw.Method == http.MethodPost {
		return ec2Error(x.name, http.StatusBadRequest, "InvalidAction", "The action "+x.call.Op+" is not valid for this web service."), nil
	}
	return ebsError(http.StatusNotFound, "UnknownOperationException", "There is no such operation here: StartSnapshot, CompleteSnapshot."), nil
}

// The strings of the service model.
var (
	ebsToken      = regexp.MustCompile(`^\S{1,255}$`)
	ebsSnapshotID = regexp.MustCompile(`^snap-[0-9a-f]{1,59}$`)
)

const (
	ebsMaxGiB      = 65536
	ebsBlockBytes  = 524288
	ebsMinTimeout  = 10 // minutes
	ebsMaxTimeout  = 4320
	ebsUsedTimeout = 60 // unless another one is given
)

func (s snapshots) start(x *exchange) answer {
	m := fields(x.raw.Body)
	if r := texts(m, nil, "Description", "ParentSnapshotId", "ClientToken", "KmsKeyArn"); r != nil {
		return s.refuse(*r)
	}
	size, ok := m["VolumeSize"].(int)
	timeout := ebsUsedTimeout
	if v, given := m["Timeout"]; given && v != nil {
		timeout, _ = v.(int)
	}
	tags, problem := ebsTags(m["Tags"])
	switch token, parent := m["ClientToken"], text(m, "ParentSnapshotId"); {
	case !ok || size < 1 || size > ebsMaxGiB:
		return s.refuse(invalid("VolumeSize", "Volume size must be a number of GiB from 1 to %d, not %v", ebsMaxGiB, m["VolumeSize"]))
	case token != nil && !ebsToken.MatchString(text(m, "ClientToken")):
		return s.refuse(invalid("ClientToken", "Client token must have 1 to 255 characters and no blanks"))
	case parent != "" && !ebsSnapshotID.MatchString(parent):
		return s.refuse(invalid("ParentSnapshotId", "Invalid snapshot id: %.60q", parent))
	case parent != "" && m["Encrypted"] != nil:
		return s.refuse(invalid("Encrypted", "Encrypted and ParentSnapshotId cannot be given together"))
	case len(text(m, "Description")) > 255:
		return s.refuse(invalid("Description", "Description must have at most 255 characters"))
	case timeout < ebsMinTimeout || timeout > ebsMaxTimeout:
		return s.refuse(invalid("Timeout", "Timeout must be a number of minutes from %d to %d, not %v", ebsMinTimeout, ebsMaxTimeout, m["Timeout"]))
	case problem != "":
		return s.refuse(invalid("Tags", "%s", problem))
	}
	reference, _ := tags[referenceTag].(string)
	x.add("", store.Object{ID: "snap-" + digest(x.name + "/snapshot")[:17], Class: "snapshot", Attrs: x.call.Attrs,
		Reference: reference, Detail: map[string]any{"tags": tags, "timeout": timeout}})
	return s.current(x.tx.Added())
}

func ebsTags(v any) (tags map[string]any, problem string) {
	list, isList := v.([]any)
	if v != nil && !isList {
		return nil, "Tags must be a list"
	}
	for _, each := range list {
		tag, _ := each.(map[string]any)
		key := text(tag, "Key")
		if key == "" {
			return nil, "A tag must have a key"
		}
		if tags == nil {
			tags = map[string]any{}
		}
		tags[key] = text(tag, "Value")
	}
	return tags, ""
}

func (snapshots) current(objects []store.Object) answer {
	o := objects[0]
	m := map[string]any{"SnapshotId": o.ID, "OwnerId": awsAccount, "Status": "pending", "StartTime": o.At.Unix(),
		"VolumeSize": o.Attrs["size"], "BlockSize": ebsBlockBytes}
	if d := o.Attrs["description"]; d != nil {
		m["Description"] = d
	}
	if p := o.Attrs["parent"]; p != nil {
		m["ParentSnapshotId"] = p
	}
	tags, _ := o.Detail["tags"].(map[string]any)
	list := []map[string]any{}
	for key, value := range tags {
		list = append(list, map[string]any{"Key": key, "Value": value})
	}
	if slices.SortFunc(list, func(a, b map[string]any) int { return strings.Compare(text(a, "Key"), text(b, "Key")) }); len(list) > 0 {
		m["Tags"] = list
	}
	return jsonAnswer(http.StatusCreated, m)
}

// statusOf is a snapshot's status: pending until it is completed, and an error if that took longer than its timeout.
func (x *exchange) statusOf(o store.Object, all []store.Object) string {
	if slices.ContainsFunc(all, func(c store.Object) bool { return c.Class == "completion" && c.Attrs["snapshot"] == o.ID }) {
		return "completed"
	}
	timeout, _ := o.Detail["timeout"].(int)
	if timeout > 0 && x.p.clock.Now().Sub(o.At) > time.Duration(timeout)*time.Minute {
		return "error"
	}
	return "pending"
}

// complete seals a snapshot. Blocks are not kept here, so their number and checksum are taken as they come.
// Of a snapshot that is complete already the model does not speak: here it is answered alike, and nothing is done.
func (s snapshots) complete(x *exchange) (answer, error) {
	id, _ := x.call.Attrs["snapshot"].(string)
	if n, err := strconv.Atoi(x.raw.Header.Get("X-Amz-Changedblockscount")); err != nil || n < 0 {
		return s.refuse(invalid("ChangedBlocksCount", "x-amz-ChangedBlocksCount must be a number from 0, not %.20q", x.raw.Header.Get("X-Amz-Changedblockscount"))), nil
	}
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	i := slices.IndexFunc(all, func(o store.Object) bool { return o.Class == "snapshot" && o.ID == id })
	if i < 0 {
		return s.refuse(refusal{code: "not_found", message: "The snapshot '" + id + "' does not exist."}), nil
	}
	switch x.statusOf(all[i], all) {
	case "error":
		return s.refuse(invalid("SnapshotId", "The snapshot '%s' is not pending", id)), nil
	case "pending":
		x.add("completion-", store.Object{Class: "completion", Attrs: x.call.Attrs})
	}
	return jsonAnswer(http.StatusAccepted, map[string]any{"Status": "completed"}), nil
}

func (s snapshots) describe(x *exchange, f url.Values) (answer, error) {
	if l := x.p.terms.LookUp; l.Kind == "" || l.Kind == "none" {
		return ec2Error(x.name, http.StatusBadRequest, "InvalidAction", "The action DescribeSnapshots is not valid for this web service."), nil
	}
	ids, filters := numbered(f, "SnapshotId"), filtersOf(f)
	for _, one := range filters {
		if _, known := snapshotField(store.Object{}, one.name, ""); !known && one.name != "tag-key" && !strings.HasPrefix(one.name, "tag:") {
			return ec2Error(x.name, http.StatusBadRequest, "InvalidParameterValue", "The filter '"+one.name+"' is invalid"), nil
		}
	}
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	found, err := x.look(func(o store.Object) bool { return o.Class == "snapshot" })
	if err != nil {
		return answer{}, err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(found, func(o store.Object) bool { return o.ID == id }) {
			return ec2Error(x.name, http.StatusBadRequest, "InvalidSnapshot.NotFound", "The snapshot '"+id+"' does not exist."), nil
		}
	}
	found = slices.DeleteFunc(found, func(o store.Object) bool {
		return len(ids) > 0 && !slices.Contains(ids, o.ID) || slices.ContainsFunc(filters, func(one filter) bool {
			if is, passes := one.tagged(o); is {
				return !passes
			}
			value, _ := snapshotField(o, one.name, x.statusOf(o, all))
			return !one.passes(value)
		})
	})
	from, to, next, refused := ec2Page(f, len(found), 5, 1000)
	if refused != nil {
		return ec2Error(x.name, http.StatusBadRequest, "InvalidParameterValue", refused.message), nil
	}
	var items [][]node
	for _, o := range found[from:to] {
		status := x.statusOf(o, all)
		size, _ := o.Attrs["size"].(int)
		progress := ""
		if status == "completed" {
			progress = "100%"
		}
		items = append(items, []node{leaf("snapshotId", o.ID), leaf("volumeId", "vol-ffffffff"), leaf("status", status), leaf("startTime", ec2Time(o.At)),
			leaf("progress", progress), leaf("ownerId", awsAccount), leaf("volumeSize", strconv.Itoa(size)),
			leaf("description", text(o.Attrs, "description")), leaf("encrypted", "false"), leaf("storageTier", "standard"), tagSet(o)})
	}
	shown := []node{set("snapshotSet", items)}
	if next != "" {
		shown = append(shown, leaf("nextToken", next))
	}
	return ec2Answer(x, shown...), nil
}

// snapshotField is what a filter of that name looks at, and whether there is such a filter here.
func snapshotField(o store.Object, name, status string) (value string, known bool) {
	switch name {
	case "snapshot-id":
		return o.ID, true
	case "status":
		return status, true
	case "description":
		return text(o.Attrs, "description"), true
	case "owner-id":
		return awsAccount, true
	case "volume-size":
		size, _ := o.Attrs["size"].(int)
		return strconv.Itoa(size), true
	}
	return "", false
}

// ebsError is an error of the EBS direct APIs: Go and JavaScript read its name from the header, Python from either.
func ebsError(status int, name, message string) answer {
	a := jsonAnswer(status, map[string]any{"__type": name, "Message": message})
	a.header = http.Header{"X-Amzn-Errortype": {name}}
	return a
}

func (snapshots) refuse(r refusal) answer {
	name, status := "ValidationException", http.StatusBadRequest
	switch {
	case r.code == "idempotency_key_missing", r.code == "idempotency_key_invalid":
	case strings.HasPrefix(r.code, "idempot"):
		r.message = "The client token has been used by another request that is not identical to this one."
		name, status = "ConflictException", http.StatusConflict
	case r.code == "not_found":
		name, status = "ResourceNotFoundException", http.StatusNotFound
	case r.code == "provider_failure" && r.status >= 500:
		name, status = "InternalServerException", r.status
	case r.code == "provider_failure":
		name, status = "RequestThrottledException", r.status
	}
	return ebsError(status, name, r.message)
}

func (snapshots) world(w bench.WorldEffect, n int) store.Object {
	o := worldObject("", w, n)
	o.ID, o.Detail = "snap-"+digest(o.ID)[:17], map[string]any{}
	return o
}

func (snapshots) decorate(x *exchange, a *answer) { awsRequestID(x, a) }
