// Writes chain.json: histories of a Deployment with the answers that apimachinery's field manager gives to them.
//
//	go run ./chain 18 1 > chain.json
//
// The arguments are how many histories there shall be, and the seed of the first one. It needs a go.mod that requires
// k8s.io/apimachinery and k8s.io/client-go v0.37.2.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"sort"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

type M = map[string]interface{}
type L = []interface{}

type fake struct{}

func (fake) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	u := unstructured.Unstructured{Object: M{}}
	u.SetGroupVersionKind(gvk)
	return &u, nil
}
func (fake) Convert(in, out, context interface{}) error { return nil }
func (fake) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}
func (fake) ConvertFieldLabel(_ schema.GroupVersionKind, _, _ string) (string, string, error) {
	return "", "", errors.New("no")
}
func (fake) Default(in runtime.Object) {}

var r *rand.Rand

func pick(s ...string) string { return s[r.Intn(len(s))] }
func chance(p float64) bool   { return r.Float64() < p }

func copyOf(v interface{}) interface{} {
	b, _ := json.Marshal(v)
	var out interface{}
	json.Unmarshal(b, &out)
	return ints(out)
}
func ints(v interface{}) interface{} {
	switch t := v.(type) {
	case map[string]interface{}:
		for k := range t {
			t[k] = ints(t[k])
		}
	case []interface{}:
		for i := range t {
			t[i] = ints(t[i])
		}
	case float64:
		if t == float64(int64(t)) {
			return int64(t)
		}
	}
	return v
}

func labels() M {
	m := M{}
	for i := 1 + r.Intn(2); i > 0; i-- {
		m[pick("app", "tier", "team")] = pick("a", "b")
	}
	return m
}

func container(name string) M {
	c := M{"name": name}
	if chance(0.7) {
		c["image"] = pick("nginx:1", "nginx:2")
	}
	if chance(0.4) {
		c["args"] = L{pick("-v", "-x"), pick("1", "2")}
	}
	if chance(0.5) {
		ports := L{}
		seen := map[string]bool{}
		for i := r.Intn(3); i > 0; i-- {
			p := M{"containerPort": int64([]int{80, 443, 9000}[r.Intn(3)])}
			proto := "TCP"
			if chance(0.5) {
				proto = pick("TCP", "UDP")
				p["protocol"] = proto
			}
			if chance(0.5) {
				p["name"] = pick("http", "web")
			}
			k := fmt.Sprint(p["containerPort"], proto)
			if !seen[k] {
				seen[k] = true
				ports = append(ports, p)
			}
		}
		c["ports"] = ports
	}
	if chance(0.5) {
		env := L{}
		for _, n := range []string{"A", "B", "C"} {
			if chance(0.5) {
				env = append(env, M{"name": n, "value": pick("1", "2")})
			}
		}
		c["env"] = env
	}
	if chance(0.3) {
		c["resources"] = M{"limits": M{"cpu": pick("1", "500m")}}
	}
	return c
}

func deployment() M {
	meta := M{"name": "web", "namespace": "default"}
	if chance(0.5) {
		meta["labels"] = labels()
	}
	if chance(0.3) {
		meta["annotations"] = labels()
	}
	if chance(0.3) {
		meta["finalizers"] = L{pick("a/f", "b/f")}
	}
	if chance(0.2) {
		meta["ownerReferences"] = L{M{"apiVersion": "v1", "kind": "X", "name": "x", "uid": pick("u1", "u2")}}
	}
	o := M{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta}
	spec := M{}
	if chance(0.6) {
		spec["replicas"] = int64(1 + r.Intn(3))
	}
	if chance(0.6) {
		spec["selector"] = M{"matchLabels": labels()}
	}
	if chance(0.3) {
		spec["strategy"] = M{"type": pick("Recreate", "RollingUpdate")}
	}
	if chance(0.8) {
		cs := L{}
		for _, n := range []string{"a", "b", "c"} {
			if chance(0.5) {
				cs = append(cs, container(n))
			}
		}
		if len(cs) > 1 && chance(0.3) {
			cs[0], cs[1] = cs[1], cs[0]
		}
		pod := M{"containers": cs}
		if chance(0.3) {
			pod["nodeSelector"] = labels()
		}
		if chance(0.3) {
			pod["tolerations"] = L{M{"key": pick("k", "l"), "operator": "Exists"}}
		}
		if chance(0.3) {
			pod["volumes"] = L{M{"name": "v", "emptyDir": M{}}, M{"name": pick("w", "x"), "configMap": M{"name": pick("c", "d")}}}
		}
		spec["template"] = M{"metadata": M{"labels": labels()}, "spec": pod}
	}
	if chance(0.9) {
		o["spec"] = spec
	}
	if chance(0.2) {
		o["status"] = M{"replicas": int64(r.Intn(3)), "conditions": L{M{"type": pick("Available", "Progressing"), "status": pick("True", "False")}}}
	}
	return o
}

// without what changes from run to run
func entries(o M) interface{} {
	meta, _ := o["metadata"].(M)
	list, _ := meta["managedFields"].([]interface{})
	out := L{}
	for _, e := range list {
		e := copyOf(e).(M)
		if _, ok := e["time"]; ok {
			e["time"] = true
		}
		out = append(out, e)
	}
	return out
}

func bare(o M) M {
	o = copyOf(o).(M)
	if meta, ok := o["metadata"].(M); ok {
		delete(meta, "managedFields")
	}
	return o
}

const annotation = "kubectl.kubernetes.io/last-applied-configuration"

func annotate(o M, value interface{}) {
	meta := o["metadata"].(M)
	a, _ := meta["annotations"].(M)
	if a == nil {
		a = M{}
	}
	b, _ := json.Marshal(value)
	a[annotation] = string(b) + "\n"
	meta["annotations"] = a
}

func scenario(seed int64) M {
	r = rand.New(rand.NewSource(seed))
	gvk := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	subresource := ""
	var reset map[fieldpath.APIVersion]fieldpath.Filter
	withReset := chance(0.5)
	if withReset {
		reset = fieldpath.NewExcludeFilterSetMap(map[fieldpath.APIVersion]*fieldpath.Set{"apps/v1": fieldpath.NewSet(fieldpath.MakePathOrDie("status"))})
	}
	if chance(0.2) {
		subresource = "scale"
	}
	f, err := managedfields.NewDefaultFieldManager(applyconfigurations.NewTypeConverter(scheme.Scheme), fake{}, fake{}, fake{}, gvk, gvk.GroupVersion(), subresource, reset)
	if err != nil {
		panic(err)
	}
	live := M{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": M{}}
	steps := L{}
	many := chance(0.2)
	untracked := !many && chance(0.2)
	n := 3 + r.Intn(4)
	if many {
		n = 17
	}
	for i := 0; i < n; i++ {
		step := M{}
		var out runtime.Object
		var err error
		if i == 0 && untracked {
			live = deployment()
			live["metadata"].(M)["uid"] = "u"
			if chance(0.5) {
				last := deployment()
				if chance(0.7) {
					last = copyOf(live).(M)
					delete(last["metadata"].(M), "uid")
				}
				annotate(live, last)
			}
			step["set"] = copyOf(live)
			steps = append(steps, step)
			continue
		}
		if many || chance(0.4) {
			o := bare(live)
			d := deployment()
			for k, v := range d {
				if k != "metadata" && chance(0.6) {
					o[k] = v
				}
			}
			meta := o["metadata"].(M)
			for k, v := range d["metadata"].(M) {
				if chance(0.6) {
					meta[k] = v
				}
			}
			switch {
			case many:
			case chance(0.1):
				meta["managedFields"] = L{M{}}
			case chance(0.1):
				meta["managedFields"] = L{}
			case chance(0.5):
				if m, ok := live["metadata"].(M)["managedFields"]; ok {
					meta["managedFields"] = copyOf(m)
				}
			case chance(0.1):
				meta["managedFields"] = L{M{"manager": "given", "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "time": "2020-01-01T00:00:00Z", "fieldsV1": M{"f:spec": M{"f:replicas": M{}}}}}
			}
			if i == 0 {
				meta["uid"] = "u"
			}
			if chance(0.2) {
				annotate(o, deployment())
			}
			manager := pick("kubectl", "one", "two", "")
			if many {
				manager = "m" + strconv.Itoa(i%15)
			}
			step["update"], step["manager"] = copyOf(o), manager
			out, err = f.Update(&unstructured.Unstructured{Object: copyOf(live).(M)}, &unstructured.Unstructured{Object: copyOf(o).(M)}, manager)
		} else {
			c := deployment()
			if chance(0.3) {
				if t, ok := live["spec"]; ok {
					c["spec"] = copyOf(t)
				}
			}
			if chance(0.03) {
				c["kind"] = "Pod"
			}
			if chance(0.03) {
				c["spec"] = M{"replicas": "x"}
			}
			manager := pick("kubectl", "kubectl", "one", "two")
			force := chance(0.3)
			step["apply"], step["manager"], step["force"] = copyOf(c), manager, force
			out, err = f.Apply(&unstructured.Unstructured{Object: copyOf(live).(M)}, &unstructured.Unstructured{Object: copyOf(c).(M)}, manager, force)
		}
		if err != nil {
			if s, ok := err.(*apierrors.StatusError); ok && s.ErrStatus.Code == 409 {
				causes := []string{}
				for _, c := range s.ErrStatus.Details.Causes {
					causes = append(causes, c.Message+" | "+c.Field)
				}
				sort.Strings(causes)
				step["causes"] = causes
				step["message"] = s.ErrStatus.Message
			} else {
				step["error"] = err.Error()
			}
		} else {
			live = copyOf(out.(*unstructured.Unstructured).Object).(M)
			step["live"] = bare(live)
			step["entries"] = entries(live)
			// all at one time
			if meta, ok := live["metadata"].(M); ok {
				if list, ok := meta["managedFields"].([]interface{}); ok {
					for _, e := range list {
						if t, ok := e.(M)["time"]; ok && t != "2020-01-01T00:00:00Z" {
							e.(M)["time"] = "2024-01-01T00:00:00Z"
						}
					}
				}
			}
		}
		steps = append(steps, step)
	}
	return M{"subresource": subresource, "reset": withReset, "steps": steps}
}

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	base, _ := strconv.Atoi(os.Args[2])
	out := L{}
	for i := 0; i < n; i++ {
		out = append(out, scenario(int64(base+i)))
	}
	e := json.NewEncoder(os.Stdout)
	e.SetEscapeHTML(false)
	e.Encode(out)
}
