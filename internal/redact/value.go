package redact

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"
)

// Map is data with every string in it hidden, keys included. Data itself stays as it is.
func (h *Hider) Map(data map[string]any) map[string]any {
	if h == nil || len(h.forms) == 0 || data == nil {
		return data
	}
	out := make(map[string]any, len(data))
	for key, value := range data {
		out[h.Text(key)] = h.value(value)
	}
	return out
}

func (h *Hider) value(v any) any {
	switch v := v.(type) {
	case nil, bool, int, int64, float64, json.Number, time.Time:
		return v
	case string:
		return h.Text(v)
	case []string:
		return h.Texts(v)
	case map[string]any:
		return h.Map(v)
	case []any:
		out := slices.Clone(v)
		for i, one := range v {
			out[i] = h.value(one)
		}
		return out
	}
	return h.encoded(v)
}

// Texts is a list of texts, each hidden.
func (h *Hider) Texts(list []string) []string {
	if h == nil || list == nil {
		return list
	}
	out := make([]string, len(list))
	for i, text := range list {
		out[i] = h.Text(text)
	}
	return out
}

// encoded hides in a value of any other kind as JSON shows it. What cannot be shown stays, for
// who encodes it to complain about.
func (h *Hider) encoded(v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		return v
	}
	out, err := decoded(raw)
	if err != nil {
		return v
	}
	return h.value(out)
}

func decoded(raw []byte) (out any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err = decoder.Decode(&out)
	return out, err
}

// Execution is a task's execution_config for who reads it: the values of its env are hidden, and its secrets
// wherever else it repeats them.
func Execution(raw json.RawMessage) json.RawMessage {
	var named struct {
		Env map[string]string `json:"env"`
	}
	if json.Unmarshal(raw, &named) != nil || len(named.Env) == 0 {
		return raw
	}
	whole, err := decoded(raw)
	config, ok := whole.(map[string]any)
	if err != nil || !ok {
		return raw
	}
	config = New("", named.Env).Map(config)
	if env, ok := config["env"].(map[string]any); ok {
		for name := range env {
			env[name] = Hidden
		}
	}
	out, err := json.Marshal(config)
	if err != nil {
		return raw
	}
	return out
}

// CanHide reports whether a secret is taken out of texts where it stands in a variable whose name says that it is one.
func CanHide(secret string) bool {
	const name = "API_KEY"
	return len(secretsOf(name, secret)) > 0
}
