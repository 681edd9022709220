package acp

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/openhands"
	"github.com/omoi-dev/omoi/internal/openhands/bridge"
)

// OpenHands has no program that speaks the protocol with its server: omoi's own bridge does.
var _ = register(Dialect{
	Name: "openhands", Title: "OpenHands", Program: openhands.Program, Install: openhands.Install, Least: openhands.Tested,
	Environ: openhandsEnviron, Steer: SteerInject, Endpoint: "llm",
	Patience: openhands.StartWait + time.Minute,
	Command: func(path string) ([]string, error) {
		self, err := os.Executable()
		return []string{self, "openhands", "bridge", path}, err
	},
	Remote: func(vars Vars) bool { address, _ := openhands.Address(vars); return address != "" },
	Probe:  openhands.Installed,
})

// openhandsEnviron names the model as LiteLLM does. The variables with keys stay with the bridge.
func openhandsEnviron(p Place, vars Vars) (Vars, error) {
	for _, kind := range []string{"llm", "anthropic", "openai", "openrouter", "google"} {
		to := accessOf(vars, kind)
		switch {
		case to.none():
			continue
		case to.model == "":
			return nil, noModel("OpenHands", strings.Replace(kind, "llm", "anthropic", 1))
		}
		return set(without(vars), Vars{
			"LLM_MODEL": litellm(kind, to.model), "LLM_API_KEY": cmp.Or(to.key, "none"), "LLM_BASE_URL": to.base, bridge.Folder: filepath.Join(p.Dir, "openhands"),
		}), nil
	}
	return nil, noCredential("OpenHands", "anthropic")
}

// without returns vars without the keys of models.
func without(vars Vars) Vars {
	rest := Vars{}
	for name, value := range vars {
		if !keyForm.MatchString(name) {
			rest[name] = value
		}
	}
	return rest
}

// litellm returns the name of a model with its provider in front.
func litellm(kind, model string) string {
	provider := map[string]string{"llm": "", "google": "gemini/"}
	prefix, known := provider[kind]
	if !known {
		prefix = kind + "/"
	}
	return prefix + strings.TrimPrefix(model, prefix)
}
