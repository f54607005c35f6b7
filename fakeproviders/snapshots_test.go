package fakeproviders

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSnapshots(t *testing.T) {
	r := up(t, "ebs-start-snapshot-described")
	body := `{"VolumeSize":8,"Description":"d","ParentSnapshotId":"snap-0a","ClientToken":"t","Tags":[{"Key":"reference","Value":"r"},{"Key":"a"}]}`
	first := r.want(r.send("POST", "/snapshots", body), 201)
	id, _ := first.field("SnapshotId").(string)
	if !ebsSnapshotID.MatchString(id) || first.field("Status") != "pending" {
		t.Fatalf("answer %s", first.body)
	}
	r.clock.pass(24 * time.Hour)
	if again := r.want(r.send("POST", "/snapshots", body), 201); again.body != first.body {
		t.Errorf("a retry: %s, first %s", again.body, first.body)
	}
	if got := r.send("POST", "/snapshots", strings.Replace(body, "8", "9", 1)); got.status != 409 || got.header.Get("X-Amzn-Errortype") != "ConflictException" || got.field("__type") != "ConflictException" {
		t.Errorf("other parameters: %d %s", got.status, got.body)
	}
	r.wantEffects(1)
	r.wantDedup(record("r2", id), record("r3", id))
	r.clock.pass(time.Second)
	second := r.want(r.send("POST", "/snapshots", body), 201)
	if second.field("SnapshotId") == id {
		t.Errorf("past the retention: %s", second.body)
	}
	eu := r.want(r.send("POST", "/snapshots", body, "Authorization", "AWS4-HMAC-SHA256 Credential=AKID/20260105/eu-west-1/ebs/aws4_request"), 201)
	if eu.field("SnapshotId") == second.field("SnapshotId") {
		t.Errorf("the token in another region: %s", eu.body)
	}
}

// A snapshot is pending until it is completed, once, or its time is over.
func TestSnapshotsAreCompleted(t *testing.T) {
	r := up(t, "ebs-start-snapshot-described")
	start := func() string {
		id, _ := r.want(r.send("POST", "/snapshots", `{"VolumeSize":8,"Timeout":20,"Tags":[{"Key":"reference","Value":"r"}]}`), 201).field("SnapshotId").(string)
		return id
	}
	done, late := start(), start()
	complete := func(id string) reply {
		return r.send("POST", "/snapshots/completion/"+id, "", "X-Amz-Changedblockscount", "0")
	}
	for range 2 {
		if got := r.want(complete(done), 202); got.field("Status") != "completed" {
			t.Errorf("completed: %s", got.body)
		}
	}
	r.wantEffects(3)
	r.clock.pass(20 * time.Minute)
	states := func(want ...string) {
		t.Helper()
		got := r.want(r.ec2("us-east-1", "DescribeSnapshots", "Filter.1.Name", "tag:reference", "Filter.1.Value.1", "r"), 200)
		if s := each(got, "status"); !slices.Equal(s, want) {
			t.Errorf("states %v, want %v", s, want)
		}
	}
	states("completed", "pending")
	r.clock.pass(time.Second)
	states("completed", "error")
	if got := complete(late); got.status != 400 || got.field("__type") != "ValidationException" {
		t.Errorf("too late: %d %s", got.status, got.body)
	}
	if got := complete("snap-0"); got.status != 404 || got.field("__type") != "ResourceNotFoundException" {
		t.Errorf("none: %d %s", got.status, got.body)
	}
	if got := r.ec2("us-east-1", "DescribeSnapshots", "SnapshotId.1", "snap-0"); !slices.Equal(each(got, "Code"), []string{"InvalidSnapshot.NotFound"}) {
		t.Errorf("none described: %d %s", got.status, got.body)
	}
	bare := up(t, "ebs-start-snapshot")
	if got := bare.ec2("us-east-1", "DescribeSnapshots"); !slices.Equal(each(got, "Code"), []string{"InvalidAction"}) {
		t.Errorf("no look-up: %d %s", got.status, got.body)
	}
}

func TestEBSRefuses(t *testing.T) {
	for name, body := range map[string]string{
		"no JSON": `{`, "a list": `[]`, "no size": `{}`, "no volume": `{"VolumeSize":0}`, "too big": `{"VolumeSize":65537}`, "a text": `{"VolumeSize":"8"}`,
		"a token with a blank": `{"VolumeSize":8,"ClientToken":"a b"}`, "an empty token": `{"VolumeSize":8,"ClientToken":""}`, "a long token": `{"VolumeSize":8,"ClientToken":"` + strings.Repeat("x", 256) + `"}`,
		"a strange parent": `{"VolumeSize":8,"ParentSnapshotId":"vol-1"}`, "parent and key": `{"VolumeSize":8,"ParentSnapshotId":"snap-1","Encrypted":true}`,
		"a short time": `{"VolumeSize":8,"Timeout":9}`, "no time": `{"VolumeSize":8,"Timeout":"20"}`, "tags that are none": `{"VolumeSize":8,"Tags":{"a":"b"}}`,
		"a tag without a key": `{"VolumeSize":8,"Tags":[7]}`, "a long text": `{"VolumeSize":8,"Description":"` + strings.Repeat("x", 256) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := up(t, "ebs-start-snapshot")
			if got := r.send("POST", "/snapshots", body); got.status != 400 || got.field("__type") != "ValidationException" || got.header.Get("X-Amzn-Requestid") == "" {
				t.Errorf("%d %s, want 400 ValidationException", got.status, got.body)
			}
			r.wantEffects(0)
		})
	}
	r := up(t, "ebs-start-snapshot")
	for _, got := range []reply{r.send("GET", "/snapshots/snap-0/blocks", ""), r.send("PUT", "/snapshots/snap-0/blocks/0", "x"), r.send("POST", "/volumes", "{}")} {
		if got.status != 404 || got.field("__type") != "UnknownOperationException" {
			t.Errorf("%d %s, want 404 UnknownOperationException", got.status, got.body)
		}
	}
}
