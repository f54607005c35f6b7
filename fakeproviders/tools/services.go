package tools

// Services of Amazon ECS, on the wire of the tasks family. The SDKs fill in no token for them; a name can be
// taken once in a cluster.

var createService = &Tool{
	name: "create_service", provider: "tasks",
	about: "Create a service that keeps so many tasks of a family running. Its name is unique in the cluster.",
	args: []argument{
		{name: "name", kind: text, required: true, about: "Name of the service."},
		{name: "family", kind: text, required: true, about: "Family of the task definition."},
		{name: "cluster", kind: text, about: "Cluster that runs it."},
		{name: "desired", kind: number, about: "How many tasks it keeps running; 1 unless given."},
	},
	lookUp: "find_service",
	class:  "service",
	effects: func(a arguments) []map[string]any {
		attrs := a.pick("name", "family", "cluster")
		attrs["desired"] = a.number("desired", 1)
		return []map[string]any{attrs}
	},
	plan: func(a arguments) []request {
		body := a.pick("cluster")
		body["serviceName"], body["taskDefinition"], body["desiredCount"] = a.text("name"), a.text("family"), a.number("desired", 1)
		return []request{awsRequest("CreateService", "service "+a.text("name"), body)}
	},
	read: func(r response) outcome {
		o, _ := r.object()
		if r.status/100 != 2 {
			return awsFailed(r)
		}
		service, _ := o["service"].(map[string]any)
		return created(service, "serviceArn")
	},
}

var findService = &Tool{
	name: "find_service", provider: "tasks", readOnly: true,
	about: "Find a service by its name.",
	args: []argument{
		{name: "name", kind: text, required: true, about: "Name of the service."},
		{name: "cluster", kind: text, about: "Cluster that runs it."},
	},
	plan: func(a arguments) []request {
		body := a.pick("cluster")
		body["services"] = []any{a.text("name")}
		return []request{awsRequest("DescribeServices", "description of "+a.text("name"), body)}
	},
	read: func(r response) outcome {
		if r.status/100 != 2 {
			return awsFailed(r)
		}
		return listed(r, "services", func(o map[string]any) map[string]any {
			found := map[string]any{"id": o["serviceArn"], "name": o["serviceName"], "desired": o["desiredCount"]}
			if family := familyIn(o["taskDefinition"]); family != "" {
				found["family"] = family
			}
			if cluster := nameIn(o["clusterArn"]); cluster != "" && cluster != "default" {
				found["cluster"] = cluster
			}
			return found
		}, oldestFirst)
	},
}
