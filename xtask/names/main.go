// Names writes what Go calls the fields of the built-in kinds, a line for each type that the table of kinds on standard input
// has. The grammar is described in crates/kinds/src/go.rs.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	aggregator "k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admission/install"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apiserverinternal/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	_ "k8s.io/kubernetes/pkg/apis/authorization/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/extensions/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/imagepolicy/install"
	_ "k8s.io/kubernetes/pkg/apis/lifecycle/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	_ "k8s.io/kubernetes/pkg/apis/storagemigration/install"
)

var marshaler = reflect.TypeFor[json.Marshaler]()

type pair struct{ versioned, internal reflect.Type }

func main() {
	scheme := legacyscheme.Scheme
	apiextensions.Install(scheme)
	aggregator.Install(scheme)
	lines := map[string]string{}
	wanted := map[string]bool{}
	table := bufio.NewScanner(os.Stdin)
	table.Buffer(nil, 1<<20)
	for table.Scan() {
		if rest, ok := strings.CutPrefix(table.Text(), "type "); ok {
			name, _, _ := strings.Cut(rest, " ")
			wanted[name] = true
		}
	}
	seen := map[pair]bool{}
	kinds := scheme.AllKnownTypes()
	var all []string
	byName := map[string]pair{}
	for gvk, versioned := range kinds {
		if gvk.Version == runtime.APIVersionInternal {
			continue
		}
		internalKind := gvk
		internalKind.Version = runtime.APIVersionInternal
		internal, ok := kinds[internalKind]
		if !ok {
			// Another group's internal type, such as that of events.k8s.io and of Scale.
			object, err := scheme.UnsafeConvertToVersion(reflect.New(versioned).Interface().(runtime.Object), runtime.InternalGroupVersioner)
			if err == nil {
				internal = reflect.TypeOf(object).Elem()
			} else {
				internal = versioned
			}
		}
		name := definition(versioned) + " " + gvk.String()
		all = append(all, name)
		byName[name] = pair{versioned, internal}
	}
	sort.Strings(all)
	meta := reflect.TypeFor[metav1.ObjectMeta]()
	walk(pair{meta, meta}, seen, lines)
	for _, name := range all {
		walk(byName[name], seen, lines)
	}
	names := make([]string, 0, len(lines))
	for name := range lines {
		names = append(names, name)
	}
	sort.Strings(names)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, name := range names {
		if !wanted[name] {
			continue
		}
		fmt.Fprintln(out, lines[name])
	}
}

// The name that OpenAPI gives a type: io.k8s.api.core.v1.Pod.
func definition(t reflect.Type) string {
	path := t.PkgPath()
	path = strings.TrimPrefix(path, "k8s.io/")
	return "io.k8s." + strings.ReplaceAll(path, "/", ".") + "." + t.Name()
}

func strip(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		if t.Name() != "" && t.Kind() != reflect.Map && t.Kind() != reflect.Slice {
			break
		}
		t = t.Elem()
	}
	return t
}

func isPlainStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !t.Implements(marshaler) && !reflect.PointerTo(t).Implements(marshaler)
}

type field struct {
	// The name in the internal type's JSON.
	shown string
	// Go's name.
	name      string
	typ       reflect.Type
	omitempty bool
	// The embedded struct that it is in.
	embedded string
}

// Fields as encoding/json sees them: embedded structs without a name are flattened.
func fields(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "-" || !f.IsExported() {
			continue
		}
		base := f.Type
		if base.Kind() == reflect.Pointer {
			base = base.Elem()
		}
		if f.Anonymous && tag == "" && base == reflect.TypeFor[metav1.ObjectMeta]() {
			out = append(out, field{shown: "^metadata", name: f.Name, typ: f.Type})
			continue
		}
		if f.Anonymous && base == reflect.TypeFor[metav1.ListMeta]() {
			continue
		}
		if f.Anonymous && base == reflect.TypeFor[metav1.TypeMeta]() {
			continue
		}
		if f.Anonymous && tag == "" && base.Kind() == reflect.Struct {
			for _, inner := range fields(base) {
				inner.embedded = strings.TrimSuffix(f.Name+"."+inner.embedded, ".")
				out = append(out, inner)
			}
			continue
		}
		shown := f.Name
		if tag != "" {
			shown = tag
		}
		out = append(out, field{shown, f.Name, f.Type, strings.Contains(options, "omit"), ""})
	}
	return out
}

// The zero value of a field that only the internal type has, if it is written.
func zero(f field) string {
	if f.omitempty {
		return ""
	}
	text, err := json.Marshal(reflect.Zero(f.typ).Interface())
	if err != nil || strings.ContainsAny(string(text), ", ") {
		return ""
	}
	return string(text)
}

func nillable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return true
	}
	return false
}

func walk(p pair, seen map[pair]bool, lines map[string]string) {
	if seen[p] || !isPlainStruct(p.versioned) {
		return
	}
	seen[p] = true
	if !isPlainStruct(p.internal) {
		fmt.Fprintln(os.Stderr, "no struct:", p.versioned, p.internal)
		return
	}
	name := definition(p.versioned)
	versioned := map[string]field{}
	for _, f := range fields(p.versioned) {
		versioned[strings.ToLower(f.name)] = f
	}
	var words []string
	for _, f := range fields(p.internal) {
		v, ok := versioned[strings.ToLower(f.name)]
		if !ok {
			fmt.Fprintln(os.Stderr, "only internal:", p.internal, f.name, f.typ)
			if zero := zero(f); zero != "" {
				words = append(words, f.shown+"~"+zero)
			}
			continue
		}
		delete(versioned, strings.ToLower(f.name))
		word := f.shown
		if f.shown == "^metadata" {
			words = append(words, f.shown)
			continue
		}
		if v.shown != lowerFirst(f.shown) {
			word += "=" + v.shown
		}
		if f.omitempty {
			word += "?"
		} else if nillable(f.typ) && !nillable(v.typ) {
			word += "*"
		} else if !nillable(f.typ) && nillable(v.typ) {
			word += "!"
		}
		words = append(words, word)
		vt, it := strip(v.typ), strip(f.typ)
		if vt.Kind() == reflect.Struct {
			walk(pair{vt, it}, seen, lines)
		}
	}
	for _, f := range versioned {
		fmt.Fprintln(os.Stderr, "only versioned:", p.versioned, f.name, f.typ)
	}
	line := name + " " + strings.Join(words, ",")
	for _, f := range fields(p.versioned) {
		word := ""
		if f.embedded != "" {
			word += "@" + f.embedded
		}
		if goName := named(f.typ); goName != "" {
			word += ":" + goName
		}
		if word != "" {
			line += " " + f.shown + word
		}
	}
	// The versioned type is part of some internal ones too.
	if _, ok := lines[name]; ok && p.internal == p.versioned {
		return
	}
	lines[name] = line
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// The Go type where it is not what the shape tells: a named text, number, list or map.
func named(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Map:
		if t.Name() != "" {
			return t.String()
		}
		inner := named(t.Elem())
		if inner == "" {
			if t.Elem().Kind() == reflect.Pointer || t.Kind() == reflect.Map && t.Key() != reflect.TypeFor[string]() {
				return t.String()
			}
			return ""
		}
		return t.String()
	case reflect.Struct:
		return ""
	}
	if t.PkgPath() != "" {
		return t.String()
	}
	switch t.Kind() {
	case reflect.Int, reflect.Uint8, reflect.Uint32, reflect.Uint64, reflect.Int16:
		return t.String()
	}
	return ""
}
