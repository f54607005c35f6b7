package tools

import (
	"encoding/xml"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// The instances family speaks EC2's query protocol, a form in and XML out (docs/providers/instances.md): the
// idempotency key is ClientToken in the form, and a reference travels as a tag of that name.

var runInstances = &Tool{
	name: "run_instances", provider: "instances",
	about: "Launch one virtual machine, or several alike. A reference of your own lets you find them again.",
	args: []argument{
		{name: "image", kind: text, required: true, about: "Machine image to launch."},
		{name: "type", kind: text, about: "Instance type."},
		{name: "zone", kind: text, about: "Availability Zone; chosen by the provider unless given."},
		{name: "name", kind: text, about: "Name tag."},
		{name: "count", kind: number, about: "How many, 1 to 20; 1 unless given."},
		{name: "minimum", kind: number, about: "Launch fewer if there is no room for all, but not fewer than this; as many as asked for unless given."},
		{name: "reference", kind: text, about: "Your own reference; find_instances finds the machines by it."},
	},
	lookUp: "find_instances", lookUpArgument: "reference",
	class: "instance",
	effects: func(a arguments) []map[string]any {
		return slices.Repeat([]map[string]any{a.pick("image", "type", "zone", "name")}, instanceCount(a))
	},
	plan: func(a arguments) []request {
		n := instanceCount(a)
		form := ec2Form("RunInstances")
		form.Set("ImageId", a.text("image"))
		form.Set("MaxCount", strconv.Itoa(n))
		form.Set("MinCount", strconv.FormatInt(a.number("minimum", int64(n)), 10))
		setText(form, "InstanceType", a.text("type"))
		setText(form, "Placement.AvailabilityZone", a.text("zone"))
		tags := 0
		for _, tag := range [][2]string{{"Name", a.text("name")}, {"reference", a.text("reference")}} {
			if tag[1] == "" {
				continue
			}
			tags++
			form.Set("TagSpecification.1.ResourceType", "instance")
			form.Set("TagSpecification.1.Tag."+strconv.Itoa(tags)+".Key", tag[0])
			form.Set("TagSpecification.1.Tag."+strconv.Itoa(tags)+".Value", tag[1])
		}
		r := ec2Request("launch of "+a.text("image"), form)
		r.wants = n
		return []request{r}
	},
	read: func(r response) outcome {
		if r.status/100 != 2 {
			return ec2Failed(r)
		}
		reply := ec2Read(r)
		done := outcome{status: Done}
		for _, i := range reply.Instances {
			done.receipts = append(done.receipts, i.ID)
		}
		if len(done.receipts) == 0 {
			return outcome{status: Unknown, message: "the provider's answer names no instance"}
		}
		return done
	},
}

// ec2Tagged is a search for what bears a reference in its tag.
func ec2Tagged(operation, reference string) request {
	form := ec2Form(operation)
	form.Set("Filter.1.Name", "tag:reference")
	form.Set("Filter.1.Value.1", literal(reference))
	return ec2Request("search for "+reference, form)
}

var findInstances = &Tool{
	name: "find_instances", provider: "instances", readOnly: true,
	about: "Find the virtual machines that were launched with a reference, oldest first.",
	args:  []argument{{name: "reference", kind: text, required: true, about: "The reference given at the launch."}},
	plan: func(a arguments) []request {
		return []request{ec2Tagged("DescribeInstances", a.text("reference"))}
	},
	read: func(r response) outcome {
		if r.status/100 != 2 {
			return ec2Failed(r)
		}
		all := []map[string]any{}
		for _, reservation := range ec2Read(r).Reservations {
			for _, i := range reservation.Instances {
				found := pickGiven(map[string]any{"id": i.ID, "image": i.Image, "type": i.Type, "zone": i.Zone, "state": i.State,
					"name": i.tag("Name"), "reference": i.tag("reference")}, "id", "image", "type", "zone", "state", "name", "reference")
				all = append(all, found)
			}
		}
		return outcome{status: Done, found: all}
	},
}

// maxInstances is the most machines that one call may ask for.
const maxInstances = 20

func instanceCount(a arguments) int { return int(min(max(a.number("count", 1), 1), maxInstances)) }

// ec2Reply is what is read of an answer, of whatever action.
type ec2Reply struct {
	Instances    []ec2Instance `xml:"instancesSet>item"`
	Reservations []struct {
		Instances []ec2Instance `xml:"instancesSet>item"`
	} `xml:"reservationSet>item"`
	Snapshots []struct {
		ID          string `xml:"snapshotId"`
		Size        int    `xml:"volumeSize"`
		Description string `xml:"description"`
		Status      string `xml:"status"`
		Tags        []tag  `xml:"tagSet>item"`
	} `xml:"snapshotSet>item"`
	Code    string `xml:"Errors>Error>Code"`
	Message string `xml:"Errors>Error>Message"`
}

type ec2Instance struct {
	ID    string `xml:"instanceId"`
	Image string `xml:"imageId"`
	Type  string `xml:"instanceType"`
	Zone  string `xml:"placement>availabilityZone"`
	State string `xml:"instanceState>name"`
	Tags  []tag  `xml:"tagSet>item"`
}

type tag struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

func (i ec2Instance) tag(key string) string { return tagOf(i.Tags, key) }

func tagOf(tags []tag, key string) string {
	i := slices.IndexFunc(tags, func(t tag) bool { return t.Key == key })
	if i < 0 {
		return ""
	}
	return tags[i].Value
}

// ec2Read reads an answer; what is no XML reads as an empty one.
func ec2Read(r response) ec2Reply {
	var reply ec2Reply
	if xml.Unmarshal(r.body, &reply) != nil {
		return ec2Reply{}
	}
	return reply
}

// ec2Failed reads an error. As in response.failed, only a refusal that EC2 itself worded says that nothing
// happened; that there is no room is one, though its status is 500.
func ec2Failed(r response) outcome {
	reply := ec2Read(r)
	o := outcome{status: Unknown, message: reply.Message}
	switch reply.Code {
	case "":
	case "IdempotentParameterMismatch", "IdempotentInstanceTerminated", "ResourceInUse":
		o.status = Conflict
	case "InsufficientInstanceCapacity":
		o.status = Refused
	default:
		if r.status/100 == 4 && r.status != http.StatusRequestTimeout && r.status != http.StatusTooManyRequests {
			o.status = Refused
		}
	}
	return o
}

func ec2Form(action string) url.Values {
	return url.Values{"Action": {action}, "Version": {"2016-11-15"}}
}

func ec2Request(about string, form url.Values) request {
	return request{
		method: http.MethodPost, path: "/", about: about, body: []byte(form.Encode()),
		header: http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}},
		keyed: func(r *request, key string) {
			form.Set("ClientToken", key)
			r.body = []byte(form.Encode())
		},
	}
}

// literal writes a filter's value so that none of its characters stands for others.
func literal(value string) string {
	var plain []rune
	for _, r := range value {
		if r == '*' || r == '?' || r == '\\' {
			plain = append(plain, '\\')
		}
		plain = append(plain, r)
	}
	return string(plain)
}
