package task

import "slices"

// Agent runtimes that a rule of omoi names: the form of the request implies them.
const (
	AgentScripted = "scripted"
	AgentClaude   = "claude"
	AgentCommand  = "command"
	AgentExternal = "external"
)

// Keys of execution_config that an agent runtime starts from.
const (
	InputScript  = "script"
	InputCommand = "command"
)

// RuntimeSpec is what every process knows of an agent runtime.
type RuntimeSpec struct {
	Name string // value of the field agent
	// Input is the key of execution_config without which the agent cannot start; empty: it needs none.
	Input string
	// NeedsModel reports that the agent works with a model, for which it needs a credential.
	NeedsModel bool
	// Credential is the kind of credential that the agent gets if the task names none; empty: that of Claude.
	Credential string
	// Access has the prefixes of variables with a key (_API_KEY) or an endpoint (_BASE_URL) by which the agent reaches a
	// model; nil: the variables of Claude.
	Access []string
	// ACP reports that the agent speaks the Agent Client Protocol: its dialect in internal/agent/acp starts it.
	ACP bool
	// Hooked reports that omoi checks the agent's tool calls before they run.
	Hooked bool
	// SurvivesInterrupt reports that the agent continues after an interrupt with what the message says.
	SurvivesInterrupt bool
	// Discards reports that the agent may have stored something outside of its sandbox, which omoi-agent deletes before the sandbox.
	Discards bool
	// SelfConnecting reports that omoi starts no agent program: the agent runs elsewhere and connects itself.
	SelfConnecting bool
}

// Runtimes is the table of agent runtimes, the preferred one first. Names in the API, the configuration and the help come from it.
// omoi-agent starts those that do not connect themselves.
//
//nolint:gochecknoglobals,gosec // a table; a test adds a row. G101: kinds of credentials
var Runtimes = []RuntimeSpec{
	{Name: AgentClaude, NeedsModel: true, Hooked: true, SurvivesInterrupt: true},
	{Name: "codex", ACP: true, NeedsModel: true, SurvivesInterrupt: true, Credential: "openai", Access: []string{"OPENAI"}},
	{Name: "gemini", ACP: true, Hooked: true, NeedsModel: true, SurvivesInterrupt: true, Credential: "google", Access: []string{"GOOGLE", "GEMINI", "GOOGLE_GEMINI"}},
	{Name: "opencode", ACP: true, Hooked: true, NeedsModel: true, SurvivesInterrupt: true, Credential: "openrouter", Access: []string{"OPENROUTER", "ANTHROPIC", "OPENAI", "GOOGLE"}},
	{Name: "qwen", ACP: true, Hooked: true, NeedsModel: true, SurvivesInterrupt: true, Credential: "openai", Access: []string{"OPENAI", "OPENROUTER"}},
	{Name: "copilot", ACP: true, Hooked: true, NeedsModel: true, SurvivesInterrupt: true, Credential: "github_copilot", Access: []string{"GITHUB_COPILOT", "COPILOT_PROVIDER", "OPENAI", "ANTHROPIC"}},
	{Name: "openhands", ACP: true, Discards: true, NeedsModel: true, SurvivesInterrupt: true, Credential: "anthropic", Access: []string{"LLM", "ANTHROPIC", "OPENAI", "OPENROUTER", "GOOGLE"}},
	{Name: AgentScripted, Input: InputScript},
	{Name: AgentCommand, Input: InputCommand, Hooked: true},
	{Name: AgentExternal, SelfConnecting: true},
}

// RuntimeOf returns the row of a runtime; the zero value if there is none.
func RuntimeOf(name string) RuntimeSpec {
	at := slices.IndexFunc(Runtimes, func(r RuntimeSpec) bool { return r.Name == name })
	if at < 0 {
		return RuntimeSpec{}
	}
	return Runtimes[at]
}

// RuntimeNames returns the names of all agent runtimes.
func RuntimeNames() []string {
	names := make([]string, len(Runtimes))
	for i, r := range Runtimes {
		names[i] = r.Name
	}
	return names
}
