package tools

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The cluster family speaks the Kubernetes API (docs/providers/cluster.md): create_job names its job,
// start_job leaves the name to the server and marks the job by a label, apply_config applies on the server's
// side. An object is named by its uid and its resource version: each version is an effect.

var createJob = &Tool{
	name: "create_job", provider: "cluster",
	about:   "Run a job under a name of your own. The name is unique in its namespace.",
	args:    slices.Concat([]argument{{name: "name", kind: text, required: true, about: "Name of the job."}}, jobArguments),
	lookUp:  "find_job",
	class:   "job",
	effects: one("namespace", "name", "image", "command"),
	plan: func(a arguments) []request {
		return []request{keylessRequest(http.MethodPost, jobsPath(a), "job "+a.text("name"), jobBody(a, map[string]any{"name": a.text("name")}))}
	},
	read: readManifest,
}

var startJob = &Tool{
	name: "start_job", provider: "cluster",
	about: "Run a job under a name that the cluster makes. A reference of your own lets you find it again.",
	args: slices.Concat([]argument{{name: "generate_name", kind: text, required: true, about: "What the name begins with."}}, jobArguments,
		[]argument{{name: "reference", kind: text, about: "Your own reference, at most 63 letters, digits and hyphens; list_jobs finds the job by it."}}),
	lookUp: "list_jobs", lookUpArgument: "reference",
	class:   "job",
	effects: one("namespace", "generate_name", "image", "command"),
	plan: func(a arguments) []request {
		meta := map[string]any{"generateName": a.text("generate_name")}
		if reference := a.text("reference"); reference != "" {
			meta["labels"] = map[string]any{"reference": reference}
		}
		return []request{keylessRequest(http.MethodPost, jobsPath(a), "job "+a.text("generate_name"), jobBody(a, meta))}
	},
	read: readManifest,
}

var jobArguments = []argument{
	{name: "namespace", kind: text, required: true, about: "Namespace that it runs in."},
	{name: "image", kind: text, required: true, about: "Container image."},
	{name: "command", kind: text, about: "What the shell of the container runs."},
}

func jobBody(a arguments, meta map[string]any) map[string]any {
	container := map[string]any{"name": "main", "image": a.text("image")}
	if script := a.text("command"); script != "" {
		container["command"] = []string{"/bin/sh", "-c", script}
	}
	pod := map[string]any{"restartPolicy": "Never", "containers": []any{container}}
	return map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": meta,
		"spec": map[string]any{"template": map[string]any{"spec": pod}}}
}

var findJob = &Tool{
	name: "find_job", provider: "cluster", readOnly: true,
	about: "Find the job of a namespace that has a name.",
	args:  slices.Clone(namedArguments),
	plan: func(a arguments) []request {
		return []request{keylessRequest(http.MethodGet, jobsPath(a)+"/"+url.PathEscape(a.text("name")), "job "+a.text("name"), nil)}
	},
	read: readOne,
}

var listJobs = &Tool{
	name: "list_jobs", provider: "cluster", readOnly: true,
	about: "Find the jobs of a namespace that carry a reference.",
	args: []argument{
		{name: "namespace", kind: text, required: true, about: "The namespace."},
		{name: "reference", kind: text, required: true, about: "The reference given at the start."},
	},
	plan: func(a arguments) []request {
		query := url.Values{"labelSelector": {"reference=" + a.text("reference")}}
		return []request{keylessRequest(http.MethodGet, jobsPath(a)+"?"+query.Encode(), "search for "+a.text("reference"), nil)}
	},
	read: func(r response) outcome {
		if r.status/100 != 2 {
			return readManifest(r)
		}
		return listed(r, "items", manifestFound, oldestFirst)
	},
}

var applyConfig = &Tool{
	name: "apply_config", provider: "cluster",
	about: "Make a config map hold these settings. Applying the same settings again changes nothing.",
	args: slices.Concat(namedArguments, []argument{
		{name: "data", kind: text, required: true, about: "The settings, a line name=value each."},
	}),
	lookUp: "read_config",
	class:  "config",
	effects: func(a arguments) []map[string]any {
		unit := a.pick("namespace", "name")
		if data := settingsText(settingsOf(a.text("data"))); data != "" {
			unit["data"] = data
		}
		return []map[string]any{unit}
	},
	plan: func(a arguments) []request {
		r := keylessRequest(http.MethodPatch, configPath(a)+"?fieldManager=settings", "config "+a.text("name"), map[string]any{"apiVersion": "v1",
			"kind": "ConfigMap", "metadata": map[string]any{"name": a.text("name")}, "data": settingsOf(a.text("data"))})
		r.header.Set("Content-Type", "application/apply-patch+yaml")
		return []request{r}
	},
	read: readManifest,
}

var readConfig = &Tool{
	name: "read_config", provider: "cluster", readOnly: true,
	about: "Read the config map of a namespace that has a name.",
	args:  slices.Clone(namedArguments),
	plan: func(a arguments) []request {
		return []request{keylessRequest(http.MethodGet, configPath(a), "config "+a.text("name"), nil)}
	},
	read: readOne,
}

var namedArguments = []argument{
	{name: "namespace", kind: text, required: true, about: "The namespace."},
	{name: "name", kind: text, required: true, about: "The name."},
}

func jobsPath(a arguments) string {
	return "/apis/batch/v1/namespaces/" + url.PathEscape(a.text("namespace")) + "/jobs"
}

func configPath(a arguments) string {
	return "/api/v1/namespaces/" + url.PathEscape(a.text("namespace")) + "/configmaps/" + url.PathEscape(a.text("name"))
}

// settingsOf reads lines name=value.
func settingsOf(lines string) map[string]any {
	data := map[string]any{}
	for line := range strings.SplitSeq(lines, "\n") {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), "="); name != "" {
			data[name] = value
		}
	}
	return data
}

// settingsText writes them again, sorted; a value of several lines is quoted.
func settingsText(data map[string]any) string {
	var all []string
	for name, v := range data {
		value, _ := v.(string)
		if strings.ContainsAny(value, "\r\n") {
			value = strconv.Quote(value)
		}
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// manifestFound is a job or a config map as agents see it.
func manifestFound(o map[string]any) map[string]any {
	meta, _ := o["metadata"].(map[string]any)
	found := pickGiven(meta, "namespace", "name")
	uid, _ := meta["uid"].(string)
	version, _ := meta["resourceVersion"].(string)
	if uid != "" && version != "" {
		found["id"] = uid + "@" + version
	}
	if prefix, _ := meta["generateName"].(string); prefix != "" {
		found["generate_name"] = prefix
	}
	if data, ok := o["data"].(map[string]any); ok {
		found["data"] = settingsText(data)
	}
	spec, _ := o["spec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	pod, _ := template["spec"].(map[string]any)
	if all, _ := pod["containers"].([]any); len(all) > 0 {
		container, _ := all[0].(map[string]any)
		if image, _ := container["image"].(string); image != "" {
			found["image"] = image
		}
		if words, _ := container["command"].([]any); len(words) == 3 {
			found["command"] = words[2]
		}
	}
	return found
}

func readManifest(r response) outcome {
	o, _ := r.object()
	if r.status/100 == 2 {
		return created(manifestFound(o), "id")
	}
	message, _ := o["message"].(string)
	return r.failed(message) // a name that is taken is told without the uid of the object that has it
}

func readOne(r response) outcome {
	if r.status == http.StatusNotFound {
		return outcome{status: Done, found: []map[string]any{}}
	}
	o := readManifest(r)
	if o.status != Done {
		return o
	}
	object, _ := r.object()
	return outcome{status: Done, found: []map[string]any{manifestFound(object)}}
}
