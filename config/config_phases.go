package config

import (
	"cmp"
	"strings"
)

// Phases set the agent type, the tools and the additional prompt of each phase of a ticket.
type Phases struct {
	Backlog        Phase `key:"backlog"`
	Requirements   Phase `key:"requirements" hidden:"true"`
	Design         Phase `key:"design" hidden:"true"`
	Implementation Phase `key:"implementation" hidden:"true"`
	Testing        Phase `key:"testing" hidden:"true"`
	Deployment     Phase `key:"deployment" hidden:"true"`
	Done           Phase `key:"done" hidden:"true"`
	Blocked        Phase `key:"blocked" hidden:"true"`
}

// Phase is one row of the table.
type Phase struct {
	AgentType string `key:"agent_type" zero:"planner for requirements and design, coordinator for done, diagnostician for blocked, implementer for the others" doc:"Agent type; agents read it as AGENT_TYPE."`
	Tools     string `key:"tools" zero:"those of the agent" doc:"Tools, separated by commas; agents read them as ALLOWED_TOOLS."`
	Prompt    string `key:"prompt" zero:"none" doc:"Text for the end of the system prompt; agents read it as SYSTEM_PROMPT_APPEND. No secrets."`
}

// Table returns the rows by phase ID.
func (p Phases) Table() map[string]Phase {
	const implementer, planner = "implementer", "planner"
	return map[string]Phase{
		"PHASE_BACKLOG":        p.Backlog.by(implementer),
		"PHASE_REQUIREMENTS":   p.Requirements.by(planner),
		"PHASE_DESIGN":         p.Design.by(planner),
		"PHASE_IMPLEMENTATION": p.Implementation.by(implementer),
		"PHASE_TESTING":        p.Testing.by(implementer),
		"PHASE_DEPLOYMENT":     p.Deployment.by(implementer),
		"PHASE_DONE":           p.Done.by("coordinator"),
		"PHASE_BLOCKED":        p.Blocked.by("diagnostician"),
	}
}

// by returns the row with a default agent type.
func (p Phase) by(agentType string) Phase {
	p.AgentType = cmp.Or(p.AgentType, agentType)
	return p
}

// faults rejects the agent type of validators, whose completion counts as a verdict.
func (p Phases) faults() (faults []string) {
	for id, row := range p.Table() {
		if row.AgentType == "validator" {
			key := strings.ToLower(strings.TrimPrefix(id, "PHASE_"))
			faults = append(faults, "phases."+key+".agent_type: validator is the agent type of validation attempts only")
		}
	}
	return faults
}
