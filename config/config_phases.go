package config

import "strings"

// Phases say who works in each phase of a ticket, with which tools, and what the agent is told besides the task.
type Phases struct {
	BacklogAgent         string `key:"backlog.agent_type" default:"implementer" doc:"Agent type in PHASE_BACKLOG; agents read it as AGENT_TYPE."`
	BacklogTools         string `key:"backlog.tools" zero:"those of the agent" doc:"Tools in PHASE_BACKLOG, with commas; agents read them as ALLOWED_TOOLS."`
	BacklogPrompt        string `key:"backlog.prompt" zero:"none" doc:"Text for the end of the system prompt in PHASE_BACKLOG; agents read it as SYSTEM_PROMPT_APPEND. No secrets."`
	RequirementsAgent    string `key:"requirements.agent_type" default:"planner" doc:"Agent type in PHASE_REQUIREMENTS; agents read it as AGENT_TYPE."`
	RequirementsTools    string `key:"requirements.tools" zero:"those of the agent" doc:"Tools in PHASE_REQUIREMENTS, with commas; agents read them as ALLOWED_TOOLS."`
	RequirementsPrompt   string `key:"requirements.prompt" zero:"none" doc:"Text for the end of the system prompt in PHASE_REQUIREMENTS; agents read it as SYSTEM_PROMPT_APPEND. No secrets."`
	DesignAgent          string `key:"design.agent_type" default:"planner" doc:"Agent type in PHASE_DESIGN; agents read it as AGENT_TYPE."`
	DesignTools          string `key:"design.tools" zero:"those of the agent" doc:"Tools in PHASE_DESIGN, with commas; agents read them as ALLOWED_TOOLS."`
	DesignPrompt         string `key:"design.prompt" zero:"none" doc:"Text for the end of the system prompt in PHASE_DESIGN; agents read it as SYSTEM_PROMPT_APPEND. No secrets."`
	ImplementationAgent  string `key:"implementation.agent_type" default:"implementer" doc:"Agent type in PHASE_IMPLEMENTATION; agents read it as AGENT_TYPE."`
	ImplementationTools  string `key:"implementation.tools" zero:"those of the agent" doc:"Tools in PHASE_IMPLEMENTATION, with commas; agents read them as ALLOWED_TOOLS."`
	ImplementationPrompt string `key:"implementation.prompt" zero:"none" doc:"Text for the end of the system prompt in PHASE_IMPLEMENTATION; agents read it as SYSTEM_PROMPT_APPEND. No secrets."`
	TestingAgent         string `key:"testing.agent_type" default:"implementer" doc:"Agent type in PHASE_TESTING; agents read it as AGENT_TYPE."`
	TestingTools         string `key:"testing.tools" zero:"those of the agent" doc:"Tools in PHASE_TESTING, with commas; agents read them as ALLOWED_TOOLS."`
	TestingPrompt        string `key:"testing.prompt" zero:"none" doc:"Text for the end of the system prompt in PHASE_TESTING; agents read it as SYSTEM_PROMPT_APPEND. No secrets."`
	DeploymentAgent      string `key:"deployment.agent_type" default:"implementer" doc:"Agent type in PHASE_DEPLOYMENT; agents read it as AGENT_TYPE."`
	DeploymentTools      string `key:"deployment.tools" zero:"those of the agent" doc:"Tools in PHASE_DEPLOYMENT, with commas; agents read them as ALLOWED_TOOLS."`
	DeploymentPrompt     string `key:"deployment.prompt" zero:"none" doc:"Text for the end of the system prompt in PHASE_DEPLOYMENT; agents read it as SYSTEM_PROMPT_APPEND. No secrets."`
	DoneAgent            string `key:"done.agent_type" default:"coordinator" doc:"Agent type in PHASE_DONE; agents read it as AGENT_TYPE."`
	DoneTools            string `key:"done.tools" zero:"those of the agent" doc:"Tools in PHASE_DONE, with commas; agents read them as ALLOWED_TOOLS."`
	DonePrompt           string `key:"done.prompt" zero:"none" doc:"Text for the end of the system prompt in PHASE_DONE; agents read it as SYSTEM_PROMPT_APPEND. No secrets."`
	BlockedAgent         string `key:"blocked.agent_type" default:"diagnostician" doc:"Agent type in PHASE_BLOCKED; agents read it as AGENT_TYPE."`
	BlockedTools         string `key:"blocked.tools" zero:"those of the agent" doc:"Tools in PHASE_BLOCKED, with commas; agents read them as ALLOWED_TOOLS."`
	BlockedPrompt        string `key:"blocked.prompt" zero:"none" doc:"Text for the end of the system prompt in PHASE_BLOCKED; agents read it as SYSTEM_PROMPT_APPEND. No secrets."`
}

// Phase is one row of the table.
type Phase struct{ AgentType, Tools, Prompt string }

// Table returns the rows by phase ID.
func (p Phases) Table() map[string]Phase {
	return map[string]Phase{
		"PHASE_BACKLOG":        {p.BacklogAgent, p.BacklogTools, p.BacklogPrompt},
		"PHASE_REQUIREMENTS":   {p.RequirementsAgent, p.RequirementsTools, p.RequirementsPrompt},
		"PHASE_DESIGN":         {p.DesignAgent, p.DesignTools, p.DesignPrompt},
		"PHASE_IMPLEMENTATION": {p.ImplementationAgent, p.ImplementationTools, p.ImplementationPrompt},
		"PHASE_TESTING":        {p.TestingAgent, p.TestingTools, p.TestingPrompt},
		"PHASE_DEPLOYMENT":     {p.DeploymentAgent, p.DeploymentTools, p.DeploymentPrompt},
		"PHASE_DONE":           {p.DoneAgent, p.DoneTools, p.DonePrompt},
		"PHASE_BLOCKED":        {p.BlockedAgent, p.BlockedTools, p.BlockedPrompt},
	}
}

// faults refuses the agent type that only the validator of a task has: its end is taken for a verdict.
func (p Phases) faults() (faults []string) {
	for id, row := range p.Table() {
		if row.AgentType == "validator" {
			key := strings.ToLower(strings.TrimPrefix(id, "PHASE_"))
			faults = append(faults, "phases."+key+".agent_type: validator is the agent type of validation attempts only")
		}
	}
	return faults
}
