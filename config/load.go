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

// Source holds the sources of settings. The zero value gives only defaults.
type Source struct {
	Params  map[string]string // by key; parameters of the command
	Environ []string          // as os.Environ gives it
	WorkDir string            // folder with .env.local and .env; empty: neither is read
}

// Value is the value of a setting with its origin.
type Value struct {
	Field
	Value  string // in the form of a configuration file; secrets are masked
	Origin string // parameter, environment NAME, .env.local NAME, .env NAME, the YAML file, or default
}

// Loaded is a configuration with the origins of its values.
type Loaded struct {
	Config
	Values   []Value
	Warnings []string // OMOI_ variables without a setting
}

// Given reports whether any source sets a setting, also to its default.
func (l *Loaded) Given(key string) bool {
	i := slices.IndexFunc(l.Values, func(v Value) bool { return v.Key == key })
	return i >= 0 && l.Values[i].Origin != originDefault
}

// Secrets returns the values of all secret settings that are set.
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

// Load reads, checks and completes the configuration. The error has one line for each fault, with the key, the origin of the
// value and the bound.
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

// fill sets each field from the first layer with a value.
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

// places returns the home, the folder of the YAML files and the environment, which are needed before the files are read.
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

// defaultHome returns ~/.omoi, or a folder in the system's temporary folder for a process without a home directory.
func defaultHome(layers []layer) string {
	for _, l := range layers {
		if user, ok := l.values["HOME"]; ok && user != "" {
			return filepath.Join(user, ".omoi")
		}
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("omoi-%d", os.Getuid()))
}

// complete sets the defaults that depend on other settings, and records them.
func (l *Loaded) complete(home, dir string) {
	l.Home, l.Dir = home, dir
	l.Database.URL = Secret(plainURL(l.Database.URL.Reveal()))
	if !l.Given("task.provider") && l.Task.Provider == task.ProviderLocal {
		l.Task.Provider = usualSandbox(runtime.GOOS)
	}
	root := reflect.ValueOf(&l.Config).Elem()
	for i := range l.Values {
		l.Values[i].Value = show(l.Values[i].value(root))
	}
}

// usualSandbox returns the default provider. Local sandboxes are isolated on Linux only.
func usualSandbox(system string) string {
	if system == "linux" {
		return task.ProviderLocal
	}
	return task.ProviderDocker
}

// plainURL removes the +driver of postgresql+asyncpg://.
func plainURL(raw string) string {
	scheme, rest, found := strings.Cut(raw, "://")
	if !found {
		return raw
	}
	scheme, _, _ = strings.Cut(scheme, "+")
	return scheme + "://" + rest
}

// unknown returns warnings about OMOI_ variables without a setting, which are probably misspelled.
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
