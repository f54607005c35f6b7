package fakeproviders

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// Services of ECS. A name is unique in a cluster among services that are there (service model, Service,
// serviceName); a second CreateService of the same name is refused. The tasks that a service keeps running are
// no effects here: it is shown as stable, with all of them running.

const notIdempotent = "Creation of service was not idempotent."

func serviceARN(cluster, name string) string { return arnPrefix + "service/" + cluster + "/" + name }

func serviceAttrs(m map[string]any) map[string]any {
	attrs := pick(map[string]any{"name": m["serviceName"], "cluster": clusterName(m), "family": m["taskDefinition"]}, "name", "cluster", "family")
	if n, ok := m["desiredCount"].(int); ok {
		attrs["desired"] = n
	}
	return attrs
}

// createService makes a service. Unlike RunTask's, its token has at most 36 characters, and the SDKs fill none in.
func (t tasks) createService(x *exchange, m map[string]any) (answer, error) {
	if r := texts(m, []string{"serviceName"}, "taskDefinition", "cluster", "clientToken", "schedulingStrategy"); r != nil {
		return t.refuse(*r), nil
	}
	if problem := asciiKey(text(m, "clientToken"), 36); problem != "" {
		return t.refuse(invalid("clientToken", "%s", problem)), nil
	}
	name := text(m, "serviceName")
	if len(name) > 255 || strings.ContainsFunc(name, func(r rune) bool { return notStartedBy(r) || r == '/' }) {
		return t.refuse(invalid("serviceName", "serviceName must have up to 255 letters, numbers, underscores and hyphens.")), nil
	}
	if text(m, "taskDefinition") == "" {
		return t.refuse(invalid("taskDefinition", "TaskDefinition can not be blank.")), nil
	}
	if n, ok := m["desiredCount"].(int); !ok && text(m, "schedulingStrategy") != "DAEMON" || n < 0 {
		return t.refuse(invalid("desiredCount", "desiredCount must be a number from 0, not %v.", m["desiredCount"])), nil
	}
	cluster := firstText(clusterName(m), "default")
	o := store.Object{ID: serviceARN(cluster, name), Class: "service", Attrs: x.call.Attrs}
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	taken := func(other store.Object) bool { return other.ID == o.ID }
	if i := slices.IndexFunc(all, taken); i >= 0 && len(x.p.terms.Unique["service"]) > 0 {
		return t.refuse(refusal{code: "already_exists", message: notIdempotent, existing: []string{all[i].ID}}), nil
	}
	for n := 2; slices.ContainsFunc(all, taken); n++ { // a second of one name, where names are not unique
		o.ID = serviceARN(cluster, name) + "/" + strconv.Itoa(n)
	}
	x.add("", o)
	return t.current(x.tx.Added()), nil
}

// isService says whether a request names the service by its ARN or by its name.
func isService(o store.Object, name string) bool {
	return o.Class == "service" && (o.ID == name || o.Attrs["name"] == name)
}

func (t tasks) describeServices(x *exchange, m map[string]any) (answer, error) {
	asked, _ := m["services"].([]any)
	if len(asked) == 0 {
		return t.refuse(invalid("services", "Services cannot be empty.")), nil
	}
	if len(asked) > 10 {
		return t.refuse(invalid("services", "At most 10 services can be described at once, not %d.", len(asked))), nil
	}
	found, err := x.look(func(o store.Object) bool { return o.Class == "service" && inCluster(o, m) })
	if err != nil {
		return answer{}, err
	}
	shown, failures := []any{}, []any{}
	for _, each := range asked {
		name, ok := each.(string)
		if !ok {
			return t.refuse(invalid("services", "A service is named by a text, not by %v.", each)), nil
		}
		before := len(shown)
		for _, o := range found {
			if isService(o, name) {
				shown = append(shown, serviceShown(o))
			}
		}
		if len(shown) > before {
			continue
		}
		if !strings.HasPrefix(name, "arn:") {
			name = serviceARN(firstText(clusterName(m), "default"), name)
		}
		failures = append(failures, map[string]any{"arn": name, "reason": "MISSING"})
	}
	return awsAnswer(http.StatusOK, map[string]any{"services": shown, "failures": failures}), nil
}

func serviceShown(o store.Object) map[string]any {
	cluster := firstText(text(o.Attrs, "cluster"), "default")
	desired, _ := o.Attrs["desired"].(int)
	definition := definitionARN(text(o.Attrs, "family"))
	return map[string]any{
		"serviceArn": o.ID, "serviceName": o.Attrs["name"], "clusterArn": arnPrefix + "cluster/" + cluster,
		"status": "ACTIVE", "taskDefinition": definition, "createdAt": o.At.Unix(), "events": []any{},
		"desiredCount": desired, "runningCount": desired, "pendingCount": 0, "schedulingStrategy": "REPLICA",
		"deployments": []any{map[string]any{
			"id": "ecs-svc/" + strconv.Itoa(1_000_000_000+o.Rank), "status": "PRIMARY", "taskDefinition": definition,
			"desiredCount": desired, "runningCount": desired, "pendingCount": 0, "rolloutState": "COMPLETED",
			"createdAt": o.At.Unix(), "updatedAt": o.At.Unix(),
		}},
	}
}
