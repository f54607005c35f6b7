package fakeproviders

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// ec2 sends an action with parameters, name and value in turn, signed for a region.
func (r *rig) ec2(region, action string, params ...string) reply {
	f := url.Values{"Action": {action}, "Version": {"2016-11-15"}}
	for i := 0; i < len(params); i += 2 {
		f.Set(params[i], params[i+1])
	}
	return r.send("POST", "/", f.Encode(), "Content-Type", "application/x-www-form-urlencoded",
		"Authorization", "AWS4-HMAC-SHA256 Credential=AKID/20260105/"+region+"/ec2/aws4_request, SignedHeaders=host, Signature=0")
}

func (r *rig) launch(params ...string) reply {
	return r.ec2("us-east-1", "RunInstances", append([]string{"ImageId", "ami-1", "MinCount", "1", "MaxCount", "1", "ClientToken", "t"}, params...)...)
}

// each lists the texts of an element in an XML answer.
func each(r reply, element string) (all []string) {
	for _, m := range regexp.MustCompile("<"+element+">([^<]*)</").FindAllStringSubmatch(r.body, -1) {
		all = append(all, m[1])
	}
	return all
}

// A token counts in its region, or in the zone that the request names by itself or by a subnet.
func TestTokensOfZones(t *testing.T) {
	r := up(t, "ec2-run-instances")
	first := each(r.want(r.launch(), 200), "instanceId")
	if again := each(r.want(r.launch(), 200), "instanceId"); !slices.Equal(again, first) {
		t.Errorf("a retry launched %v, first %v", again, first)
	}
	r.wantDedup(record("r2", first[0]))
	zone := each(r.want(r.launch("Placement.AvailabilityZone", "us-east-1b"), 200), "instanceId")
	if again := each(r.want(r.launch("Placement.AvailabilityZone", "us-east-1b"), 200), "instanceId"); !slices.Equal(again, zone) || slices.Equal(zone, first) {
		t.Errorf("in a zone: %v, again %v, in the region %v", zone, again, first)
	}
	subnet := r.want(r.launch("SubnetId", "subnet-b"), 200) // which lies in zone c
	if zones := each(subnet, "availabilityZone"); !slices.Equal(zones, []string{"us-east-1c"}) {
		t.Errorf("the zone of a subnet: %v", zones)
	}
	if got := r.launch("Placement.AvailabilityZone", "us-east-1c"); !slices.Equal(each(got, "Code"), []string{"IdempotentParameterMismatch"}) {
		t.Errorf("in the subnet's zone: %d %s", got.status, got.body)
	}
	r.want(r.ec2("eu-west-1", "RunInstances", "ImageId", "ami-1", "MinCount", "1", "MaxCount", "1", "ClientToken", "t"), 200)
	r.wantEffects(4)
}

func TestOtherParametersAtEC2(t *testing.T) {
	r := up(t, "ec2-run-instances")
	r.want(r.launch("InstanceType", "t3.small"), 200)
	if got := r.launch("InstanceType", "m7i.large"); got.status != 400 || !slices.Equal(each(got, "Code"), []string{"IdempotentParameterMismatch"}) {
		t.Errorf("other parameters: %d %s", got.status, got.body)
	}
	r.wantEffects(1)
	silent := up(t, "ec2-run-instances-silent")
	first := each(silent.want(silent.launch("InstanceType", "t3.small"), 200), "instanceId")
	got := silent.want(silent.launch("InstanceType", "m7i.large"), 200)
	if !slices.Equal(each(got, "instanceId"), first) || !slices.Equal(each(got, "instanceType"), []string{"t3.small"}) {
		t.Errorf("silent: %s, want the first instance", got.body)
	}
	silent.wantEffects(1)
}

// An instance is pending, then running, then terminated; a token of one that was terminated is an error, and
// is forgotten a day after the end.
func TestLifeOfAnInstance(t *testing.T) {
	r := up(t, "ec2-run-instances")
	launched := r.want(r.launch("MaxCount", "2"), 200)
	ids := each(launched, "instanceId")
	if names := each(launched, "name"); !slices.Equal(names, []string{"pending", "pending"}) {
		t.Errorf("states at first: %v", names)
	}
	if names := each(r.want(r.launch("MaxCount", "2"), 200), "name"); !slices.Equal(names, []string{"running", "running"}) {
		t.Errorf("states in a retry: %v", names)
	}
	if early := r.ec2("us-east-1", "DescribeInstances", "InstanceId.1", ids[0]); early.status != 400 || !slices.Equal(each(early, "Code"), []string{"InvalidInstanceID.NotFound"}) {
		t.Errorf("described at once: %d %s", early.status, early.body)
	}
	r.clock.pass(5 * time.Minute)
	for range 2 {
		r.want(r.ec2("us-east-1", "TerminateInstances", "InstanceId.1", ids[0], "InstanceId.2", ids[0]), 200)
	}
	if states := each(r.want(r.launch("MaxCount", "2"), 200), "name"); !slices.Equal(states, []string{"terminated", "running"}) {
		t.Errorf("states after the end of one: %v", states)
	}
	if got := r.ec2("us-east-1", "TerminateInstances", "InstanceId.1", ids[1], "InstanceId.2", "i-0"); got.status != 400 {
		t.Errorf("all or none: %d %s", got.status, got.body)
	}
	r.wantEffects(3)
	r.want(r.ec2("us-east-1", "TerminateInstances", "InstanceId.1", ids[1]), 200)
	if all := r.effects(); len(all) != 4 || all[3].Undoes != ids[1] || all[3].Sign != -1 {
		t.Errorf("effects %+v", all)
	}
	r.clock.pass(24 * time.Hour)
	if got := r.launch("MaxCount", "2"); got.status != 400 || !slices.Equal(each(got, "Code"), []string{"IdempotentInstanceTerminated"}) {
		t.Errorf("a day after the end: %d %s", got.status, got.body)
	}
	if got := each(r.want(r.ec2("us-east-1", "DescribeInstances"), 200), "instanceId"); len(got) != 0 {
		t.Errorf("described a day after the end: %v", got)
	}
	r.clock.pass(time.Second)
	if got := each(r.want(r.launch("MaxCount", "2"), 200), "instanceId"); len(got) != 2 || got[0] == ids[0] {
		t.Errorf("past the retention: %v", got)
	}
}

func TestInstancesAreFound(t *testing.T) {
	r := up(t, "ec2-run-instances")
	tags := []string{"TagSpecification.1.ResourceType", "volume", "TagSpecification.1.Tag.1.Key", "reference", "TagSpecification.1.Tag.1.Value", "disk",
		"TagSpecification.2.ResourceType", "instance", "TagSpecification.2.Tag.1.Key", "reference", "TagSpecification.2.Tag.1.Value", "a*b",
		"TagSpecification.2.Tag.2.Key", "Name", "TagSpecification.2.Tag.2.Value", "<one>"}
	id := each(r.want(r.launch(append(tags, "InstanceType", "t3.small", "SubnetId", "subnet-7")...), 200), "instanceId")
	for range 7 {
		r.want(r.launch("ClientToken", "", "ImageId", "ami-2"), 200)
	}
	r.clock.pass(5 * time.Minute)
	for filter, found := range map[string]int{
		"client-token=t": 1, "client-token=T": 0, "tag:reference=a*b": 1, `tag:reference=a\*b`: 1, `tag:reference=a\?b`: 0, "tag:reference=disk": 0,
		"tag:Name=?one?": 1, "tag-key=Na*": 1, "instance-state-name=running": 8, "instance-state-code=48": 0, "image-id=ami-?": 8, "image-id=ami-1": 1,
		"instance-type=t3.*": 1, "subnet-id=subnet-7": 1, "availability-zone=us-east-1a": 7, "instance-id=" + id[0]: 1,
	} {
		name, value, _ := strings.Cut(filter, "=")
		got := r.want(r.ec2("us-east-1", "DescribeInstances", "Filter.1.Name", name, "Filter.1.Value.1", "none", "Filter.1.Value.2", value), 200)
		if n := len(each(got, "instanceId")); n != found {
			t.Errorf("%s finds %d, want %d", filter, n, found)
		}
	}
	first := r.want(r.ec2("us-east-1", "DescribeInstances", "MaxResults", "5"), 200)
	second := r.want(r.ec2("us-east-1", "DescribeInstances", "MaxResults", "5", "NextToken", each(first, "nextToken")[0]), 200)
	if a, b := each(first, "instanceId"), each(second, "instanceId"); len(a) != 5 || len(b) != 3 || len(each(second, "nextToken")) != 0 || a[0] != id[0] {
		t.Errorf("pages %v and %v", a, b)
	}
}

func TestRoomForInstances(t *testing.T) {
	r := up(t, "ec2-run-instances-full")
	first := each(r.want(r.launch("MaxCount", "5"), 200), "instanceId")
	if again := each(r.want(r.launch("MaxCount", "5"), 200), "instanceId"); len(first) != 2 || !slices.Equal(again, first) {
		t.Errorf("launched %v, again %v", first, again)
	}
	if got := r.launch("ClientToken", "u", "MinCount", "3", "MaxCount", "5"); got.status != 500 || !slices.Equal(each(got, "Code"), []string{"InsufficientInstanceCapacity"}) {
		t.Errorf("three at least: %d %s", got.status, got.body)
	}
	r.wantEffects(2)
}

func TestEC2Refuses(t *testing.T) {
	for name, c := range map[string]struct {
		code   string
		params []string
	}{
		"no image":          {"MissingParameter", []string{"Action", "RunInstances", "ImageId", ""}},
		"none":              {"InvalidParameterValue", []string{"Action", "RunInstances", "MinCount", "0"}},
		"less than least":   {"InvalidParameterValue", []string{"Action", "RunInstances", "MinCount", "2"}},
		"no number":         {"InvalidParameterValue", []string{"Action", "RunInstances", "MaxCount", "one"}},
		"too many":          {"InstanceLimitExceeded", []string{"Action", "RunInstances", "MaxCount", "21"}},
		"a long token":      {"InvalidParameterValue", []string{"Action", "RunInstances", "ClientToken", strings.Repeat("x", 65)}},
		"an unknown filter": {"InvalidParameterValue", []string{"Action", "DescribeInstances", "Filter.1.Name", "colour", "Filter.1.Value.1", "red"}},
		"a small page":      {"InvalidParameterValue", []string{"Action", "DescribeInstances", "MaxResults", "4"}},
		"a made-up page":    {"InvalidParameterValue", []string{"Action", "DescribeInstances", "NextToken", "x"}},
		"ids and pages":     {"InvalidParameterCombination", []string{"Action", "DescribeInstances", "InstanceId.1", "i-0", "MaxResults", "5"}},
		"no ids":            {"MissingParameter", []string{"Action", "TerminateInstances"}},
		"a strange action":  {"InvalidAction", []string{"Action", "LaunchInstances"}},
		"no action":         {"MissingAction", []string{"Action", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			r := up(t, "ec2-run-instances")
			got := r.launch(c.params...)
			if got.status != 400 || !slices.Equal(each(got, "Code"), []string{c.code}) || len(each(got, "RequestID")) != 1 {
				t.Errorf("%d %s, want 400 %s", got.status, got.body, c.code)
			}
			r.wantEffects(0)
		})
	}
	if r := up(t, "ec2-run-instances"); r.send("POST", "/", "%zz").status != 400 || r.send("GET", "/", "").status != 400 || r.send("POST", "/x", "Action=RunInstances").status != 400 {
		t.Error("what is no query request is not refused")
	}
}
