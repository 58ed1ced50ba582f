// Writes cases.json: questions with the answers that structured-merge-diff gives to them.
//
//	go run ./typed 16 7000 > cases.json
//
// The arguments are how many cases of each sort there shall be, and the seed of the first one. It needs a go.mod that
// requires sigs.k8s.io/structured-merge-diff/v6 v6.4.2.
package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"sort"
	"strconv"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

type M = map[string]interface{}
type L = []interface{}

var r *rand.Rand

func pick(s ...string) string { return s[r.Intn(len(s))] }
func word() interface{}       { return pick("x", "y", "z") }
func chance(p float64) bool   { return r.Float64() < p }

type gen struct {
	dup  bool
	bad  bool
	fill float64
}

func (g gen) maybe(m M, name string, f func() interface{}) {
	if chance(g.fill) {
		if chance(0.06) {
			m[name] = nil
			return
		}
		if g.bad && chance(0.02) {
			m[name] = g.weird()
			return
		}
		m[name] = f()
	}
}

func (g gen) weird() interface{} {
	switch r.Intn(5) {
	case 0:
		return int64(7)
	case 1:
		return "weird"
	case 2:
		return true
	case 3:
		return L{"w"}
	default:
		return M{"w": "w"}
	}
}

func (g gen) set() interface{} {
	out := L{}
	seen := map[string]bool{}
	for i := r.Intn(5); i > 0; i-- {
		w := pick("a", "b", "c", "d", "e")
		if seen[w] && !g.dup {
			continue
		}
		seen[w] = true
		out = append(out, w)
	}
	return out
}

func (g gen) list(f func() (interface{}, string)) interface{} {
	out := L{}
	seen := map[string]bool{}
	for i := r.Intn(5); i > 0; i-- {
		v, k := f()
		if seen[k] && !g.dup {
			continue
		}
		seen[k] = true
		if g.bad && chance(0.02) {
			v = g.weird()
		}
		out = append(out, v)
	}
	return out
}

func (g gen) words() interface{} {
	m := M{}
	for i := r.Intn(3); i > 0; i-- {
		m[pick("p", "q", "r")] = word()
	}
	return m
}

func (g gen) item() (interface{}, string) {
	n := pick("a", "b", "c", "d")
	m := M{"name": n}
	g.maybe(m, "v", func() interface{} { return int64(r.Intn(3)) })
	g.maybe(m, "labels", g.words)
	g.maybe(m, "set", g.set)
	return m, n
}

func (g gen) port() (interface{}, string) {
	p := int64([]int{80, 443, 9}[r.Intn(3)])
	m := M{"port": p}
	proto := "TCP"
	if chance(0.6) {
		proto = pick("TCP", "UDP")
		m["protocol"] = proto
	}
	g.maybe(m, "name", word)
	return m, fmt.Sprint(p, proto)
}

func (g gen) opt() (interface{}, string) {
	m := M{}
	k := ""
	if chance(0.7) {
		a := pick("a", "b")
		m["a"] = a
		k += "a" + a
	}
	if len(m) == 0 || chance(0.5) {
		b := r.Intn(2)
		m["b"] = int64(b)
		k += "b" + strconv.Itoa(b)
	}
	g.maybe(m, "v", word)
	return m, k
}

func (g gen) inner(depth int) interface{} {
	m := M{}
	g.maybe(m, "a", func() interface{} { return int64(r.Intn(3)) })
	g.maybe(m, "b", word)
	if depth < 2 {
		g.maybe(m, "in", func() interface{} { return g.inner(depth + 1) })
	}
	g.maybe(m, "list", func() interface{} { return g.list(g.item) })
	return m
}

func (g gen) free(depth int) interface{} {
	switch n := r.Intn(6); {
	case n == 0:
		return word()
	case n == 1:
		return int64(r.Intn(3))
	case n == 2:
		return L{word(), word()}
	case n == 3 && depth > 0:
		return nil
	case depth > 2:
		return true
	default:
		m := M{}
		for i := r.Intn(3); i > 0; i-- {
			m[pick("k", "l", "m")] = g.free(depth + 1)
		}
		return m
	}
}

func (g gen) object() M {
	m := M{}
	g.maybe(m, "num", func() interface{} {
		if chance(0.3) {
			return float64(r.Intn(4)) / 2
		}
		return int64(r.Intn(3))
	})
	g.maybe(m, "str", word)
	g.maybe(m, "flag", func() interface{} { return chance(0.5) })
	g.maybe(m, "any", func() interface{} { return g.free(0) })
	g.maybe(m, "free", func() interface{} { return g.free(0) })
	g.maybe(m, "set", g.set)
	g.maybe(m, "nums", func() interface{} {
		return g.list(func() (interface{}, string) { n := r.Intn(12); return int64(n), strconv.Itoa(n) })
	})
	g.maybe(m, "atomList", g.set)
	g.maybe(m, "items", func() interface{} { return g.list(g.item) })
	g.maybe(m, "ports", func() interface{} { return g.list(g.port) })
	g.maybe(m, "opts", func() interface{} { return g.list(g.opt) })
	g.maybe(m, "labels", g.words)
	g.maybe(m, "atomMap", g.words)
	g.maybe(m, "nested", func() interface{} { return g.inner(0) })
	g.maybe(m, "atomic", func() interface{} { return g.inner(0) })
	g.maybe(m, "mapOfInner", func() interface{} {
		m := M{}
		for i := r.Intn(3); i > 0; i-- {
			m[pick("p", "q", "r")] = g.inner(1)
		}
		return m
	})
	g.maybe(m, "mapOfLists", func() interface{} {
		m := M{}
		for i := r.Intn(3); i > 0; i-- {
			m[pick("p", "q", "r")] = g.set()
		}
		return m
	})
	g.maybe(m, "either", func() interface{} {
		switch r.Intn(3) {
		case 0:
			return word()
		case 1:
			return g.set()
		default:
			return g.words()
		}
	})
	return m
}

func text(s *fieldpath.Set) string {
	b, err := s.ToJSON()
	if err != nil {
		panic(err)
	}
	return string(b)
}

func copyOf(v interface{}) interface{} {
	b, _ := json.Marshal(v)
	var out interface{}
	if err := json.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	return ints(out)
}

// what Kubernetes' JSON reader does: integers are int64
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

func tv(p typed.ParseableType, v interface{}) *typed.TypedValue {
	return typed.AsTypedUnvalidated(value.NewValueInterface(copyOf(v)), p.Schema, p.TypeRef)
}

func subset(s *fieldpath.Set) *fieldpath.Set {
	out := fieldpath.NewSet()
	s.Iterate(func(p fieldpath.Path) {
		if chance(0.4) {
			out.Insert(p.Copy())
		}
	})
	return out
}

func typedCase(p typed.ParseableType, seed int64) M {
	r = rand.New(rand.NewSource(seed))
	g := gen{dup: chance(0.5), bad: false, fill: []float64{0.15, 0.4, 0.8}[r.Intn(3)]}
	left, right := g.object(), g.object()
	if chance(0.5) {
		// close to the left one
		right = copyOf(left).(M)
		for k, v := range g.object() {
			if chance(0.3) {
				right[k] = v
			}
		}
		for k := range right {
			if chance(0.1) {
				delete(right, k)
			}
		}
	}
	out := M{"left": left, "right": right}
	l, rt := tv(p, left), tv(p, right)
	if err := rt.Validate(); err != nil {
		out["duplicates"] = err.Error()
	}
	if err := l.Validate(typed.AllowDuplicates); err != nil {
		panic(err)
	}
	set, err := l.ToFieldSet()
	if err != nil {
		panic(err)
	}
	out["set"] = text(set)
	rset, _ := rt.ToFieldSet()
	c, err := l.Compare(rt)
	if err != nil {
		panic(err)
	}
	out["removed"], out["modified"], out["added"] = text(c.Removed), text(c.Modified), text(c.Added)
	merged, err := l.Merge(rt)
	if err != nil {
		out["mergeError"] = err.Error()
	} else {
		out["merged"] = merged.AsValue().Unstructured()
	}
	items := subset(set.Union(rset))
	out["items"] = text(items)
	out["without"] = l.RemoveItems(items).AsValue().Unstructured()
	out["extract"] = l.ExtractItems(items).AsValue().Unstructured()
	out["leaves"] = text(items.Leaves())
	out["named"] = text(items.EnsureNamedFieldsAreMembers(p.Schema, p.TypeRef))
	out["union"] = text(items.Union(set))
	out["intersection"] = text(items.Intersection(rset))
	out["difference"] = text(set.Difference(items))
	out["recursive"] = text(set.RecursiveDifference(items))
	paths := []string{}
	items.Iterate(func(p fieldpath.Path) { paths = append(paths, p.String()) })
	out["paths"] = paths
	return copyOf(out).(M)
}

func badCase(p typed.ParseableType, seed int64) M {
	r = rand.New(rand.NewSource(seed))
	g := gen{dup: chance(0.5), bad: true, fill: 0.4}
	for {
		v := copyOf(g.object())
		err := tv(p, v).Validate()
		if err == nil {
			continue
		}
		errs := []string{}
		for _, e := range err.(typed.ValidationErrors) {
			errs = append(errs, e.Error())
		}
		sort.Strings(errs)
		return M{"value": v, "errors": errs}
	}
}

type converter struct {
	types map[fieldpath.APIVersion]typed.ParseableType
}

type missing struct{}

func (missing) Error() string { return "missing" }

func (c converter) Convert(o *typed.TypedValue, v fieldpath.APIVersion) (*typed.TypedValue, error) {
	p, ok := c.types[v]
	if !ok {
		return nil, missing{}
	}
	m := copyOf(o.AsValue().Unstructured())
	if m, ok := m.(M); ok {
		m["apiVersion"] = string(v)
	}
	return tv(p, m), nil
}
func (c converter) IsMissingVersionError(err error) bool {
	_, ok := err.(missing)
	return ok
}

func managersOut(m fieldpath.ManagedFields) M {
	out := M{}
	for k, v := range m {
		out[k] = M{"set": text(v.Set()), "version": string(v.APIVersion()), "applied": v.Applied()}
	}
	return out
}

func scenario(p typed.ParseableType, seed int64) M {
	r = rand.New(rand.NewSource(seed))
	g := gen{fill: []float64{0.15, 0.4}[r.Intn(2)]}
	u := merge.Updater{Converter: converter{types: map[fieldpath.APIVersion]typed.ParseableType{"v1": p, "v2": p}}}
	ignored := chance(0.3)
	if ignored {
		u.IgnoreFilter = map[fieldpath.APIVersion]fieldpath.Filter{
			"v1": fieldpath.NewExcludeSetFilter(fieldpath.NewSet(fieldpath.MakePathOrDie("nested"), fieldpath.MakePathOrDie("items", fieldpath.KeyByFields("name", "a"), "labels"))),
		}
	}
	versions := []string{"v1"}
	if chance(0.4) {
		versions = []string{"v1", "v2"}
	}
	live := M{"apiVersion": versions[0]}
	managers := fieldpath.ManagedFields{}
	steps := L{}
	for i := 3 + r.Intn(5); i > 0; i-- {
		version := pick(versions...)
		liveT, err := u.Converter.Convert(tv(p, live), fieldpath.APIVersion(version))
		if err != nil {
			panic(err)
		}
		step := M{"version": version}
		manager := pick("one", "two", "three")
		if chance(0.35) {
			o := copyOf(liveT.AsValue().Unstructured()).(M)
			for k, v := range g.object() {
				if chance(0.6) {
					o[k] = v
				}
			}
			for k := range o {
				if k != "apiVersion" && chance(0.15) {
					delete(o, k)
				}
			}
			if chance(0.1) {
				o["items"] = gen{dup: true, fill: 0.4}.list(gen{dup: true, fill: 0.4}.item)
			}
			manager = "update-" + manager
			step["update"], step["manager"] = copyOf(o), manager
			newObj, m, err := u.Update(liveT, tv(p, o), fieldpath.APIVersion(version), managers.Copy(), manager)
			if err != nil {
				step["error"] = err.Error()
			} else {
				live = copyOf(newObj.AsValue().Unstructured()).(M)
				managers = m
			}
		} else {
			c := g.object()
			c["apiVersion"] = version
			// often close to what is there
			if chance(0.5) {
				for k := range c {
					if v, ok := live[k]; ok && chance(0.5) && k != "apiVersion" {
						if tv(p, M{k: v}).Validate() == nil {
							c[k] = copyOf(v)
						}
					}
				}
			}
			force := chance(0.4)
			manager = "apply-" + manager
			step["apply"], step["manager"], step["force"] = copyOf(c), manager, force
			newObj, m, err := u.Apply(liveT, tv(p, c), fieldpath.APIVersion(version), managers.Copy(), manager, force)
			if conflicts, ok := err.(merge.Conflicts); ok {
				list := []string{}
				for _, c := range conflicts {
					list = append(list, c.Error())
				}
				sort.Strings(list)
				step["conflicts"] = list
			} else if err != nil {
				step["error"] = err.Error()
			} else {
				managers = m
				if newObj != nil {
					live = copyOf(newObj.AsValue().Unstructured()).(M)
				} else {
					step["noop"] = true
					live = copyOf(liveT.AsValue().Unstructured()).(M)
				}
			}
		}
		step["live"] = copyOf(live)
		step["managers"] = managersOut(managers)
		steps = append(steps, step)
	}
	return M{"ignored": ignored, "steps": steps}
}

func main() {
	schema, err := os.ReadFile("schema.yaml")
	if err != nil {
		panic(err)
	}
	parser, err := typed.NewParser(typed.YAMLObject(schema))
	if err != nil {
		panic(err)
	}
	p := parser.Type("root")
	n, _ := strconv.Atoi(os.Args[1])
	base, _ := strconv.Atoi(os.Args[2])
	out := M{"typed": L{}, "bad": L{}, "scenarios": L{}}
	t, b, s := L{}, L{}, L{}
	for i := 0; i < n; i++ {
		t = append(t, typedCase(p, int64(base+i)))
		b = append(b, badCase(p, int64(base+i)))
		s = append(s, scenario(p, int64(base+i)))
	}
	out["typed"], out["bad"], out["scenarios"] = t, b, s
	e := json.NewEncoder(os.Stdout)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		panic(err)
	}
}
