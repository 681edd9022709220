package config

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// Source is where settings are looked for. The zero value finds only defaults.
type Source struct {
	Params  map[string]string // by key; parameters of the command
	Environ []string          // as os.Environ gives it
	WorkDir string            // whose .env.local and .env are read; empty: none are
}

// Value is a setting with where it came from.
type Value struct {
	Field
	Value  string // as it would be written; secrets are masked
	Origin string // parameter, environment NAME, .env.local NAME, .env NAME, the YAML file, or default
}

// Loaded is a configuration and how it came to be.
type Loaded struct {
	Config
	Values   []Value
	Warnings []string // variables that look meant for omoi and are no settings
}

// Given reports whether the setting was set anywhere at all.
func (l *Loaded) Given(key string) bool {
	i := slices.IndexFunc(l.Values, func(v Value) bool { return v.Key == key })
	return i >= 0 && l.Values[i].Origin != originDefault
}

// Secrets are the values of all secret settings that are set.
func (l *Loaded) Secrets() []string {
	var all []string
	root := reflect.ValueOf(&l.Config).Elem()
	for _, f := range Fields() {
		if value := f.value(root); f.Secret && !value.IsZero() {
			all = append(all, value.String())
		}
	}
	return all
}

// Load reads, checks and completes the configuration. Every fault is in the error, one
// line each, naming the key, where the value came from, and the bound.
func Load(src Source) (*Loaded, error) {
	env := environment(src.Environ)
	layers := []layer{{name: originParameter, values: src.Params}, env}
	dots, err := dotenv(src.WorkDir)
	if err != nil {
		return nil, err
	}
	layers = append(layers, dots...)
	home, dir, name := places(layers)
	files, err := yamlLayers(dir, name)
	if err != nil {
		return nil, err
	}
	loaded := &Loaded{Warnings: unknown(layers)}
	layers = append(layers, files...)
	faults := loaded.fill(layers)
	faults = append(faults, loaded.legacy(layers)...)
	loaded.complete(home, dir)
	faults = append(faults, loaded.check()...)
	if len(faults) > 0 {
		return nil, fmt.Errorf("configuration: %s", strings.Join(faults, "\n  "))
	}
	return loaded, nil
}

// fill sets every field from the first layer that has it.
func (l *Loaded) fill(layers []layer) (faults []string) {
	root := reflect.ValueOf(&l.Config).Elem()
	for _, f := range Fields() {
		raw, origin := lookup(layers, f)
		target := f.value(root)
		if err := assign(target, f, raw); err != nil {
			faults = append(faults, fmt.Sprintf("%s (%s): %v", f.Key, origin, err))
		}
		if f.Hidden && origin == originDefault {
			continue
		}
		l.Values = append(l.Values, Value{Field: f, Value: show(target), Origin: origin})
	}
	return faults
}

func lookup(layers []layer, f Field) (raw, origin string) {
	for _, l := range layers {
		if raw, origin, ok := l.find(f); ok {
			return raw, origin
		}
	}
	return f.Default, originDefault
}

// places finds out where YAML files are, which must be known before they are read.
func places(layers []layer) (home, dir, name string) {
	found := map[string]string{}
	for _, f := range Groups()[0].Fields {
		found[f.Key], _ = lookup(layers, f)
	}
	home = cmp.Or(found["home"], defaultHome(layers))
	if abs, err := filepath.Abs(home); err == nil {
		home = abs
	}
	return home, cmp.Or(found["config_dir"], filepath.Join(home, "config")), found["env"]
}

// defaultHome is ~/.omoi; a process without a home directory gets a folder below the
// system's temporary one.
func defaultHome(layers []layer) string {
	for _, l := range layers {
		if user, ok := l.values["HOME"]; ok && user != "" {
			return filepath.Join(user, ".omoi")
		}
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("omoi-%d", os.Getuid()))
}

// complete sets what follows from other settings, and shows it.
func (l *Loaded) complete(home, dir string) {
	l.Home, l.Dir = home, dir
	l.Database.URL = Secret(plainURL(l.Database.URL.Reveal()))
	if !l.Given("task.provider") && !l.Daytona.Execution {
		l.Task.Provider = usualSandbox(runtime.GOOS)
	}
	root := reflect.ValueOf(&l.Config).Elem()
	for i := range l.Values {
		l.Values[i].Value = show(l.Values[i].value(root))
	}
}

// usualSandbox is what tasks run in by default: local sandboxes are isolated on Linux only.
func usualSandbox(system string) string {
	if system == "linux" {
		return task.ProviderLocal
	}
	return task.ProviderDocker
}

// plainURL drops the +driver of postgresql+asyncpg://.
func plainURL(raw string) string {
	scheme, rest, found := strings.Cut(raw, "://")
	if !found {
		return raw
	}
	scheme, _, _ = strings.Cut(scheme, "+")
	return scheme + "://" + rest
}

// unknown lists OMOI_ variables that no setting has, since they are likely misspelt.
func unknown(layers []layer) []string {
	known := EnvNames()
	var out []string
	for _, l := range layers {
		for _, name := range slices.Sorted(maps.Keys(l.values)) {
			if strings.HasPrefix(name, "OMOI_") && !strings.HasPrefix(name, "OMOI_TEST_") && !slices.Contains(known, name) {
				out = append(out, fmt.Sprintf("%s (%s) is not a setting; see docs/CONFIGURATION.md", name, l.name))
			}
		}
	}
	return out
}
