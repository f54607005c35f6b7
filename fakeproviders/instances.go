package fakeproviders

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// instances speaks EC2's query protocol: a form in, XML out, the token in ClientToken.
// Rules: docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html.
type instances struct{ regionScoped }

func (instances) Name() string    { return "instances" }
func (instances) Summary() string { return "virtual machines over the EC2 query wire (XML)" }

// terminatedSeen is how long a terminated instance is still described.
// docs.aws.amazon.com/AWSEC2/latest/UserGuide/terminating-instances.html names about an hour.
const terminatedSeen = time.Hour

// referenceTag is the tag by which a caller may find again what it made.
const referenceTag = "reference"

func (instances) Parse(r bench.RawRequest) bench.Call {
	path, _ := target(r)
	f := form(r.Body)
	if r.Method != http.MethodPost || path[0] != "" || f.Get("Action") == "" {
		return bench.Call{Op: "unknown"}
	}
	c := bench.Call{Op: f.Get("Action")}
	switch c.Op {
	case "RunInstances":
		tags := tagsOf(f, "instance")
		c.Class, c.Mutating = "instance", true
		c.Attrs = pick(map[string]any{"image": f.Get("ImageId"), "type": f.Get("InstanceType"), "zone": zoneOf(f), "name": tags["Name"]},
			"image", "type", "zone", "name")
		if n, err := strconv.Atoi(f.Get("MaxCount")); err == nil && n > 1 && n <= maxInstances {
			for range n {
				c.Units = append(c.Units, c.Attrs)
			}
		}
	case "TerminateInstances":
		c.Class, c.Mutating = "instance", true
	}
	return c
}

// maxInstances is how many instances one call may ask for here; in EC2 it is a quota of the account.
const maxInstances = 20

// zoneOf is the Availability Zone that a request names, by itself or by a subnet; "": EC2 chooses. A subnet
// lies in one zone; which one is here told by its last letter.
func zoneOf(f url.Values) string {
	if zone := f.Get("Placement.AvailabilityZone"); zone != "" {
		return zone
	}
	subnet := f.Get("SubnetId")
	if subnet == "" {
		return ""
	}
	return awsRegion + string(rune('a'+subnet[len(subnet)-1]%3))
}

func (i instances) execute(x *exchange) (answer, error) {
	f := form(x.raw.Body)
	switch x.call.Op {
	case "RunInstances":
		return i.run(x, f), nil
	case "DescribeInstances":
		return i.describe(x, f)
	case "TerminateInstances":
		return i.terminate(x, f)
	case "unknown":
		return ec2Error(x.name, http.StatusBadRequest, "MissingAction", "The request must contain the parameter Action."), nil
	}
	return ec2Error(x.name, http.StatusBadRequest, "InvalidAction", "The action "+x.call.Op+" is not valid for this web service."), nil
}

// run launches as many instances as there is room for, from MinCount to MaxCount.
func (i instances) run(x *exchange, f url.Values) answer {
	for _, name := range []string{"ImageId", "MinCount", "MaxCount"} {
		if f.Get(name) == "" {
			return ec2Error(x.name, http.StatusBadRequest, "MissingParameter", "The request must contain the parameter "+name)
		}
	}
	least, err1 := strconv.Atoi(f.Get("MinCount"))
	most, err2 := strconv.Atoi(f.Get("MaxCount"))
	switch {
	case err1 != nil || err2 != nil || least < 1 || least > most:
		return i.refuseTo(x, invalid("MaxCount", "Value for parameter maxCount is invalid. MinCount %.20s and MaxCount %.20s must be numbers from 1, in this order.", f.Get("MinCount"), f.Get("MaxCount")))
	case most > maxInstances:
		return ec2Error(x.name, http.StatusBadRequest, "InstanceLimitExceeded", "You have requested more instances than your current instance limit of "+strconv.Itoa(maxInstances)+" allows.")
	}
	if token := f.Get("ClientToken"); asciiKey(token, 64) != "" {
		return i.refuseTo(x, invalid("ClientToken", "Value for parameter clientToken is invalid. Invalid client token: at most 64 ASCII characters."))
	}
	if room := x.p.terms.Capacity; room > 0 {
		if room < least {
			return ec2Error(x.name, http.StatusInternalServerError, "InsufficientInstanceCapacity", "There is not enough capacity to fulfill your request for "+f.Get("InstanceType")+".")
		}
		most = min(most, room)
	}
	tags := tagsOf(f, "instance")
	reference, _ := tags[referenceTag].(string)
	detail := map[string]any{"tags": tags, "token": f.Get("ClientToken")}
	if subnet := f.Get("SubnetId"); subnet != "" {
		detail["subnet"] = subnet
	}
	for n := range most {
		x.add("", store.Object{ID: "i-" + digest(x.name + "/instance/" + strconv.Itoa(n))[:17], Class: "instance",
			Attrs: x.call.Attrs, Reference: reference, Detail: detail})
	}
	a := ec2Answer(x, reservation(x.tx.Added(), func(store.Object) string { return "pending" })...)
	a.partly = len(x.tx.Added()) < len(x.call.Units)
	return a
}

// stateOf tells the state of an instance now, by when it ended.
func (x *exchange) stateOf(all []store.Object) func(store.Object) string {
	now := x.p.clock.Now()
	return func(o store.Object) string {
		if end, ended := x.p.endOf(o, all); ended && !end.After(now) {
			return "terminated"
		}
		return "running"
	}
}

var instanceCode = map[string]string{"pending": "0", "running": "16", "terminated": "48"}

func instanceState(name, state string) node {
	return tree(name, leaf("code", instanceCode[state]), leaf("name", state))
}

// reservation shows the instances of one launch.
func reservation(made []store.Object, state func(store.Object) string) []node {
	var items [][]node
	for n, o := range made {
		items = append(items, instanceShown(o, n, state(o)))
	}
	return []node{
		leaf("reservationId", "r-"+digest(firstText(made[0].Request, made[0].ID))[:17]), leaf("ownerId", awsAccount), node{name: "groupSet"},
		set("instancesSet", items),
	}
}

func instanceShown(o store.Object, index int, state string) []node {
	shown := []node{
		leaf("instanceId", o.ID), leaf("imageId", text(o.Attrs, "image")), instanceState("instanceState", state),
		node{name: "privateDnsName"}, node{name: "dnsName"}, node{name: "reason"}, leaf("amiLaunchIndex", strconv.Itoa(index)),
		leaf("instanceType", firstText(text(o.Attrs, "type"), "m1.small")), leaf("launchTime", ec2Time(o.At)),
		tree("placement", leaf("availabilityZone", firstText(text(o.Attrs, "zone"), awsRegion+"a")), node{name: "groupName"}, leaf("tenancy", "default")),
		tree("monitoring", leaf("state", "disabled")), leaf("architecture", "x86_64"), leaf("rootDeviceType", "ebs"),
		leaf("virtualizationType", "hvm"), tagSet(o),
	}
	if token := text(o.Detail, "token"); token != "" {
		shown = append(shown, leaf("clientToken", token))
	}
	if subnet := text(o.Detail, "subnet"); subnet != "" {
		shown = append(shown, leaf("subnetId", subnet))
	}
	return shown
}

// describe shows instances by the reservation that they were launched in, oldest first.
func (i instances) describe(x *exchange, f url.Values) (answer, error) {
	ids, filters := numbered(f, "InstanceId"), filtersOf(f)
	if len(ids) > 0 && f.Has("MaxResults") {
		return ec2Error(x.name, http.StatusBadRequest, "InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults"), nil
	}
	for _, one := range filters {
		if _, known := instanceField(store.Object{}, one.name, ""); !known && one.name != "tag-key" && !strings.HasPrefix(one.name, "tag:") {
			return i.refuseTo(x, invalid("Filter", "The filter '%.60s' is invalid", one.name)), nil
		}
	}
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	state, now := x.stateOf(all), x.p.clock.Now()
	found, err := x.look(func(o store.Object) bool {
		end, ended := x.p.endOf(o, all)
		return o.Sign > 0 && (!ended || now.Sub(end) <= terminatedSeen)
	})
	if err != nil {
		return answer{}, err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(found, func(o store.Object) bool { return o.ID == id }) {
			return ec2Error(x.name, http.StatusBadRequest, "InvalidInstanceID.NotFound", "The instance ID '"+id+"' does not exist"), nil
		}
	}
	found = slices.DeleteFunc(found, func(o store.Object) bool {
		return len(ids) > 0 && !slices.Contains(ids, o.ID) || slices.ContainsFunc(filters, func(one filter) bool {
			if is, passes := one.tagged(o); is {
				return !passes
			}
			value, _ := instanceField(o, one.name, state(o))
			return !one.passes(value)
		})
	})
	from, to, next, refused := ec2Page(f, len(found), 5, 1000)
	if refused != nil {
		return i.refuseTo(x, *refused), nil
	}
	var reservations [][]node
	for launch := range chunks(found[from:to]) {
		reservations = append(reservations, reservation(launch, state))
	}
	shown := []node{set("reservationSet", reservations)}
	if next != "" {
		shown = append(shown, leaf("nextToken", next))
	}
	return ec2Answer(x, shown...), nil
}

// instanceField is what a filter of that name looks at, and whether there is such a filter here.
func instanceField(o store.Object, name, state string) (value string, known bool) {
	switch name {
	case "instance-id":
		return o.ID, true
	case "client-token":
		return text(o.Detail, "token"), true
	case "instance-state-name":
		return state, true
	case "instance-state-code":
		return instanceCode[state], true
	case "image-id":
		return text(o.Attrs, "image"), true
	case "instance-type":
		return text(o.Attrs, "type"), true
	case "availability-zone":
		return firstText(text(o.Attrs, "zone"), awsRegion+"a"), true
	case "subnet-id":
		return text(o.Detail, "subnet"), true
	}
	return "", false
}

// chunks yields the instances of each launch together, in order.
func chunks(all []store.Object) func(yield func([]store.Object) bool) {
	return func(yield func([]store.Object) bool) {
		for from := 0; from < len(all); {
			to := from + 1
			for to < len(all) && all[to].Request == all[from].Request && all[from].Request != "" {
				to++
			}
			if !yield(all[from:to]) {
				return
			}
			from = to
		}
	}
}

// terminate ends instances, all or none: effects that undo them. One that has ended stays as it is.
func (i instances) terminate(x *exchange, f url.Values) (answer, error) {
	ids := numbered(f, "InstanceId")
	if len(ids) == 0 {
		return ec2Error(x.name, http.StatusBadRequest, "MissingParameter", "The request must contain the parameter InstanceId"), nil
	}
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	state := x.stateOf(all)
	var changes [][]node
	for n, id := range ids {
		at := slices.IndexFunc(all, func(o store.Object) bool { return o.ID == id && o.Sign > 0 })
		if at < 0 {
			x.tx.Rollback()
			return ec2Error(x.name, http.StatusBadRequest, "InvalidInstanceID.NotFound", "The instance ID '"+id+"' does not exist"), nil
		}
		was := state(all[at])
		if was != "terminated" && !slices.Contains(ids[:n], id) {
			x.add("term_", store.Object{Class: "instance", Attrs: all[at].Attrs, Sign: -1, Undoes: id})
		}
		changes = append(changes, []node{leaf("instanceId", id), instanceState("currentState", "terminated"), instanceState("previousState", was)})
	}
	return ec2Answer(x, set("instancesSet", changes)), nil
}

// again answers a retry with the instances as they are now. Where all have been terminated it is an error
// since 2025 (github.com/boto/boto3/issues/4406).
func (i instances) again(x *exchange, was answer, made []store.Object) answer {
	all, err := x.p.store.Objects()
	if err != nil || len(made) == 0 {
		return was
	}
	state := x.stateOf(all)
	if !slices.ContainsFunc(made, func(o store.Object) bool { return state(o) != "terminated" }) {
		return ec2Error(x.name, http.StatusBadRequest, "IdempotentInstanceTerminated",
			"The client token you have provided is associated with a terminated instance. Please use a different client token.")
	}
	return ec2Answer(x, reservation(made, state)...)
}

// current is needed by Kind; again stands in for it wherever there is a request to answer.
func (instances) current(objects []store.Object) answer {
	x := &exchange{name: objects[0].Request, call: bench.Call{Op: "RunInstances"}}
	return ec2Answer(x, reservation(objects, func(store.Object) string { return "running" })...)
}

func (i instances) refuse(r refusal) answer { return i.refuseTo(&exchange{}, r) }

func (instances) refuseTo(x *exchange, r refusal) answer {
	code, status := "InvalidParameterValue", http.StatusBadRequest
	switch {
	case r.code == "idempotency_key_in_use":
		code = "ResourceInUse"
	case r.code == "idempotency_key_missing":
		code = "MissingParameter"
	case r.code == "idempotency_key_invalid":
	case strings.HasPrefix(r.code, "idempot"):
		code, r.message = "IdempotentParameterMismatch", "Arguments on this idempotent request are inconsistent with arguments used in previous request(s)."
	case r.code == "provider_failure" && r.status == http.StatusServiceUnavailable:
		code, status = "Unavailable", r.status
	case r.code == "provider_failure" && r.status >= 500:
		code, status = "InternalError", r.status
	case r.code == "provider_failure":
		code, status = "RequestLimitExceeded", r.status
	}
	return ec2Error(x.name, status, code, r.message)
}

func (instances) world(w bench.WorldEffect, n int) store.Object {
	o := worldObject("", w, n)
	o.ID, o.Detail = "i-"+digest(o.ID)[:17], map[string]any{}
	if name := text(w.Attrs, "name"); name != "" {
		o.Detail["tags"] = map[string]any{"Name": name}
	}
	return o
}

// decorate adds the request id to the headers too.
func (instances) decorate(x *exchange, a *answer) { awsRequestID(x, a) }
