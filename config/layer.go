package config

import (
	_ "embed" // for base.yaml
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
)

const (
	originParameter   = "parameter"
	originEnvironment = "environment"
	originDefault     = "default"
	originBuiltIn     = "base.yaml (built in)"
	originProduction  = "production.yaml (built in)"

	envLocal      = "local"
	envProduction = "production"
)

//go:embed base.yaml
var builtIn []byte

//go:embed production.yaml
var production []byte

// layer is one place where settings are looked for: by key, or by variable.
type layer struct {
	name string
	keys map[string]string // by dotted key
	vars map[string]string // by variable
}

// find returns the value of a setting, and where it was.
func (l layer) find(f Field) (raw, origin string, ok bool) {
	for _, name := range f.Env {
		if raw := l.vars[name]; raw != "" {
			if unit, bare := f.scale[name]; bare {
				raw = times(raw, unit)
			}
			return raw, l.name + " " + name, true
		}
	}
	for _, key := range f.YAML {
		if raw, ok := l.keys[key]; ok {
			return raw, l.name, true
		}
	}
	return "", "", false
}

func params(given map[string]string) layer { return layer{name: originParameter, keys: given} }

func environment(environ []string) layer {
	l := layer{name: originEnvironment, vars: map[string]string{}}
	k := koanf.New("\x00")
	// the provider fails for no reason of its own: it only copies what it is given
	if err := k.Load(env.Provider("\x00", env.Opt{EnvironFunc: func() []string { return environ }}), nil); err == nil {
		l.vars = texts(k)
	}
	return l
}

// texts flattens what koanf holds into text.
func texts(k *koanf.Koanf) map[string]string {
	out := map[string]string{}
	for key, value := range k.All() {
		if value != nil {
			out[key] = fmt.Sprint(value)
		}
	}
	return out
}

// yamlLayers reads <env>.yaml and base.yaml of dir, then the built-in ones. Of the environments without a file
// only local and production mean something.
func yamlLayers(dir, name string) ([]layer, error) {
	if !regexp.MustCompile(`^[\w-]+$`).MatchString(name) {
		return nil, fmt.Errorf("configuration: env: %q is not a word", name)
	}
	var layers []layer
	for _, base := range []string{name + ".yaml", "base.yaml"} {
		path := filepath.Join(dir, base)
		l, err := yamlLayer(path, file.Provider(path))
		switch {
		case err == nil:
			layers = append(layers, l)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		case base != "base.yaml" && name != envLocal && name != envProduction:
			return nil, fmt.Errorf("configuration: env: there is no %s. Create it, or set OMOI_ENV to local or production", path)
		}
	}
	return builtInLayers(layers, name)
}

// builtInLayers appends the layers that every binary has.
func builtInLayers(layers []layer, name string) ([]layer, error) {
	if name == envProduction {
		over, err := yamlLayer(originProduction, rawBytes(production))
		if err != nil {
			return nil, err
		}
		layers = append(layers, over)
	}
	base, err := yamlLayer(originBuiltIn, rawBytes(builtIn))
	return append(layers, base), err
}

func yamlLayer(name string, provider koanf.Provider) (layer, error) {
	k := koanf.New(".")
	if err := k.Load(provider, yaml.Parser()); err != nil {
		return layer{}, fmt.Errorf("configuration: read %s: %w", name, err)
	}
	l := layer{name: name, keys: texts(k)}
	known := map[string]bool{}
	for _, f := range Fields() {
		for _, key := range f.YAML {
			known[key] = true
		}
	}
	for key := range l.keys {
		if !known[key] && !retired[key] {
			return layer{}, fmt.Errorf("configuration: %s: %s is not a setting; see docs/CONFIGURATION.md", name, key)
		}
	}
	return l, nil
}

// rawBytes is a koanf provider of what is in memory already.
type rawBytes []byte

// ReadBytes returns the bytes.
func (b rawBytes) ReadBytes() ([]byte, error) { return b, nil }

// Read is not supported: the bytes need a parser.
func (b rawBytes) Read() (map[string]any, error) { return nil, errors.ErrUnsupported }

// dotenv reads .env.local and .env of dir; missing files are none.
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
			return nil, fmt.Errorf("configuration: %w; make it readable for you (chmod u+r), move it away, or start omoi in another folder", err)
		}
		vars, err := parseDotenv(string(content))
		if err != nil {
			return nil, fmt.Errorf("configuration: %s: %w", base, err)
		}
		layers = append(layers, layer{name: base, vars: vars})
	}
	return layers, nil
}

// parseDotenv reads NAME=value lines; quotes around a value are dropped, as is a comment
// after an unquoted one.
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
