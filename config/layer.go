package config

import (
	_ "embed" // for production.yaml
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	originParameter   = "parameter"
	originEnvironment = "environment"
	originDefault     = "default"
	originProduction  = "production.yaml (built in)"

	envLocal      = "local"
	envProduction = "production"
)

//go:embed production.yaml
var production []byte

// layer is one source of settings, by variable or by dotted key.
type layer struct {
	name   string
	vars   bool
	values map[string]string
}

// find returns the value of a setting, and where it was. An empty variable counts as not set.
func (l layer) find(f Field) (raw, origin string, ok bool) {
	if !l.vars {
		for _, key := range f.YAML {
			if raw, ok = l.values[key]; ok {
				return raw, l.name, true
			}
		}
		return "", "", false
	}
	for _, name := range f.Env {
		if raw = l.values[name]; raw == "" {
			continue
		}
		if unit, bare := f.scale[name]; bare {
			raw = times(raw, unit)
		}
		return raw, l.name + " " + name, true
	}
	return "", "", false
}

func environment(environ []string) layer {
	l := layer{name: originEnvironment, vars: true, values: map[string]string{}}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		l.values[name] = value
	}
	return l
}

// yamlLayers reads <env>.yaml and base.yaml of dir, then the built-in production.yaml. An environment without a file must be
// local or production.
func yamlLayers(dir, name string) ([]layer, error) {
	if !regexp.MustCompile(`^[\w-]+$`).MatchString(name) {
		return nil, fmt.Errorf("configuration: env: %q is not valid: must be letters, digits, hyphens and underscores", name)
	}
	var layers []layer
	for _, base := range []string{name + ".yaml", "base.yaml"} {
		path := filepath.Join(dir, base)
		content, err := os.ReadFile(path)
		switch {
		case err == nil:
			l, err := yamlLayer(path, content)
			if err != nil {
				return nil, err
			}
			layers = append(layers, l)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("configuration: %w", err)
		case base != "base.yaml" && name != envLocal && name != envProduction:
			return nil, fmt.Errorf("configuration: env: %s not found. Next: create it, or set OMOI_ENV to local or production", path)
		}
	}
	if name != envProduction {
		return layers, nil
	}
	builtIn, err := yamlLayer(originProduction, production)
	return append(layers, builtIn), err
}

func yamlLayer(name string, content []byte) (layer, error) {
	var tree map[string]any
	if err := yaml.Unmarshal(content, &tree); err != nil {
		return layer{}, fmt.Errorf("configuration: read %s: %w", name, err)
	}
	l := layer{name: name, values: map[string]string{}}
	flatten(l.values, "", tree)
	var known []string
	for _, f := range Fields() {
		known = append(known, f.YAML...)
	}
	for key := range l.values {
		if !slices.Contains(known, key) {
			return layer{}, fmt.Errorf("configuration: %s: %s is not a setting; see docs/CONFIGURATION.md", name, key)
		}
	}
	return l, nil
}

// flatten writes the values of a YAML tree to out, by dotted key.
func flatten(out map[string]string, prefix string, tree map[string]any) {
	for key, value := range tree {
		if below, ok := value.(map[string]any); ok {
			flatten(out, prefix+key+".", below)
		} else if value != nil {
			out[prefix+key] = fmt.Sprint(value)
		}
	}
}

// dotenv reads .env.local and .env of dir. Missing files are skipped.
func dotenv(dir string) ([]layer, error) {
	if dir == "" {
		return nil, nil
	}
	var layers []layer
	for _, base := range []string{".env.local", ".env"} {
		content, err := os.ReadFile(filepath.Join(dir, base))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("configuration: %w. Next: make it readable (chmod u+r), move it, or start omoi in another folder", err)
		}
		vars, err := parseDotenv(string(content))
		if err != nil {
			return nil, fmt.Errorf("configuration: %s: %w", base, err)
		}
		layers = append(layers, layer{name: base, vars: true, values: vars})
	}
	return layers, nil
}

// parseDotenv reads NAME=value lines. It removes quotes around a value, and a comment after an unquoted value.
func parseDotenv(content string) (map[string]string, error) {
	vars := map[string]string{}
	for i, line := range strings.Split(content, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, found := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		if !found {
			return nil, fmt.Errorf("line %d: want NAME=value", i+1)
		}
		vars[strings.TrimSpace(name)] = unquote(strings.TrimSpace(value))
	}
	return vars, nil
}

func unquote(value string) string {
	for _, q := range []string{`"`, `'`} {
		if rest, ok := strings.CutPrefix(value, q); ok {
			if inner, _, closed := strings.Cut(rest, q); closed {
				return inner
			}
		}
	}
	value, _, _ = strings.Cut(value, " #")
	return strings.TrimSpace(value)
}
