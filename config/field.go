package config

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Field describes one setting.
type Field struct {
	Key     string   // dotted, for example sandbox.memory_gb
	Env     []string // variables, the first is OMOI_<KEY>
	YAML    []string // YAML keys, the first is Key
	Type    string   // string, secret, number, integer, boolean, duration
	Default string   // in the form of a configuration file; empty: none
	Min     string   // lower bound; empty: none
	Max     string   // upper bound; empty: none
	OneOf   []string // allowed values; empty: any
	Unit    string   // of a number
	Zero    string   // what zero or empty means
	Doc     string   // one sentence
	Secret  bool
	Hidden  bool // not documented, and printed only if set

	scale map[string]time.Duration // of variables that hold a bare number
	index []int
	entry string // key in a [PerProvider]; empty: none
}

// Group is one struct of [Config] with its settings, as the documentation shows them.
type Group struct {
	Name   string
	Note   string // a sentence about all of them; empty: none
	Fields []Field
}

// Fields returns every setting, in the order of [Config].
func Fields() []Field {
	var all []Field
	for _, g := range Groups() {
		all = append(all, g.Fields...)
	}
	return all
}

// Groups returns every setting by group; settings without a group come first. The caller must not change them.
var Groups = sync.OnceValue(func() []Group { //nolint:gochecknoglobals // each command needs them several times
	t := reflect.TypeFor[Config]()
	groups := []Group{{Name: "general"}}
	for i := range t.NumField() {
		sf := t.Field(i)
		if sf.Type.Kind() != reflect.Struct {
			groups[0].Fields = append(groups[0].Fields, describe(sf, "", []int{i}))
			continue
		}
		groups = append(groups, Group{Name: sf.Tag.Get("key"), Note: sf.Tag.Get("note"), Fields: below(sf, "", []int{i}, false)})
	}
	return groups
})

// below returns the settings of a struct in [Config] and of its nested structs.
func below(of reflect.StructField, prefix string, index []int, hidden bool) (fields []Field) {
	prefix += of.Tag.Get("key") + "."
	hidden = hidden || of.Tag.Get("hidden") != ""
	for i := range of.Type.NumField() {
		sf, at := of.Type.Field(i), append(slices.Clone(index), i)
		if sf.Type.Kind() == reflect.Struct {
			fields = append(fields, below(sf, prefix, at, hidden)...)
			continue
		}
		if sf.Type == reflect.TypeFor[PerProvider]() {
			fields = append(fields, perProvider(sf, prefix, at)...)
			continue
		}
		f := describe(sf, prefix, at)
		f.Hidden = hidden
		fields = append(fields, f)
	}
	return fields
}

func perProvider(sf reflect.StructField, prefix string, index []int) (fields []Field) {
	for _, p := range task.Providers {
		if p.Machine {
			f := describe(sf, prefix+p.Name, index)
			f.Doc, f.entry = strings.ReplaceAll(f.Doc, "%s", p.Name), p.Name
			fields = append(fields, f)
		}
	}
	return fields
}

// value returns the setting in the [Config] of root.
func (f Field) value(root reflect.Value) reflect.Value {
	v := root.FieldByIndex(f.index)
	all, ok := reflect.TypeAssert[*PerProvider](v.Addr())
	if !ok {
		return v
	}
	if *all == nil {
		*all = PerProvider{}
	}
	if (*all)[f.entry] == nil {
		(*all)[f.entry] = new(string)
	}
	return reflect.ValueOf((*all)[f.entry]).Elem()
}

// EnvNames returns every environment variable that omoi reads.
func EnvNames() []string {
	var names []string
	for _, f := range Fields() {
		names = append(names, f.Env...)
	}
	return names
}

func describe(sf reflect.StructField, prefix string, index []int) Field {
	tag := sf.Tag
	key := prefix + tag.Get("key")
	f := Field{
		Key: key, YAML: append([]string{key}, strings.Fields(tag.Get("also"))...),
		Env: []string{"OMOI_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))}, Type: typeName(sf.Type),
		Default: tag.Get("default"), Min: tag.Get("min"), Max: tag.Get("max"), OneOf: choices(tag.Get("oneof")),
		Unit: tag.Get("unit"), Zero: tag.Get("zero"), Doc: tag.Get("doc"),
		Secret: sf.Type == reflect.TypeFor[Secret](), scale: map[string]time.Duration{}, index: index,
	}
	for older := range strings.FieldsSeq(tag.Get("env")) {
		name, scale := scaled(older)
		if scale > 0 {
			f.scale[name] = scale
		}
		f.Env = append(f.Env, name)
	}
	return f
}

// choices returns the allowed values of a tag, which may name a table of package task.
func choices(tag string) []string {
	switch tag {
	case "providers":
		return task.ProviderNames()
	case "runtimes":
		return task.RuntimeNames()
	}
	return strings.Fields(tag)
}

// scaled splits NAME(m) into the name and one minute.
func scaled(name string) (string, time.Duration) {
	if minutes, found := strings.CutSuffix(name, "(m)"); found {
		return minutes, time.Minute
	}
	if seconds, found := strings.CutSuffix(name, "(s)"); found {
		return seconds, time.Second
	}
	return name, 0
}

func typeName(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[Secret]():
		return "secret"
	case t == reflect.TypeFor[time.Duration]():
		return "duration"
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return "integer"
	case t.Kind() == reflect.Float64:
		return "number"
	default:
		return "string"
	}
}
