package claude

import (
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/task"
)

// SystemPrompt returns the addition to the system prompt of an agent that asks users nothing.
func SystemPrompt(env agent.Env, vars variables) string { return systemPrompt(env, vars, askNever) }

// systemPrompt returns the addition to the system prompt of an agent that may ask a user. The text is on the command line.
func systemPrompt(env agent.Env, vars variables, may string) string {
	cfg := env.Config
	parts := []string{
		"You work alone in a sandbox that is deleted when you are done. " + asksText(may) + " Messages that arrive while you work come from people who watch you; follow them.",
		"Your working directory is " + cfg.Workspace + ".",
		modeText(cfg.Mode),
	}
	switch {
	case cfg.Repo == nil:
	case continuous.Writes(cfg.Mode):
		parts = append(parts, fmt.Sprintf("It is a git checkout on the branch %s. Commit all of your work on this branch, in commits with a clear message, and push it with `git push origin HEAD`. Open no pull request and change no other branch: that is done for you afterwards.", cfg.Repo.Branch))
	case cfg.Mode == task.ModeValidation:
		parts = append(parts, fmt.Sprintf("It is a git checkout of the branch %s. Commit nothing and push nothing: what you change here to try things out is no part of the work.", cfg.Repo.Branch))
	}
	if cfg.Validation != nil {
		parts = append(parts, continuous.VerdictForm)
	}
	if more := vars["SYSTEM_PROMPT_APPEND"]; more != "" {
		parts = append(parts, more)
	}
	return strings.Join(parts, "\n\n")
}

func asksText(may string) string {
	if may == askNever {
		return "Nobody answers questions: decide yourself, and say what you decided."
	}
	return "Decide yourself, and say what you decided. Only if the work cannot go on without the decision of a user, ask with the tool " + askTool + ": an answer may take days."
}

func modeText(mode string) string {
	switch mode {
	case task.ModeExploration:
		return "Your task is to find out, not to change: read, run what you need, and end with a complete answer in words."
	case task.ModeValidation:
		return "Your task is to check work that is there: run it, run its tests, and end with what is right and what is wrong."
	}
	return "Your task is to change the code so that it does what is asked: make the change, run what you made, and end with a short account of it."
}

// FirstPrompt returns the first prompt of an attempt. begun reports that the session continues that of an earlier attempt.
func FirstPrompt(env agent.Env, begun bool) string {
	cfg := env.Config
	if cfg.Validation != nil {
		text := agentconfig.ValidatorPrompt(cfg.Title, cfg.Description, cfg.Contract, cfg.Feedback)
		if cfg.TestCommand != "" {
			text += "\n\nThe work can pass only if this command does: " + cfg.TestCommand
		}
		return text
	}
	text := cfg.Description
	if strings.TrimSpace(text) == "" {
		text = cfg.Title
	}
	if cfg.Title != "" && !strings.HasPrefix(text, cfg.Title) {
		text = cfg.Title + "\n\n" + text
	}
	if vars := agent.Variables(env.Environ); vars["INITIAL_PROMPT"] != "" && cfg.Description == "" {
		text = vars["INITIAL_PROMPT"]
	}
	switch {
	case begun && cfg.Restore != nil && cfg.Restore.Fork != nil:
		text = "Up to here, this conversation is that of task " + cfg.Restore.Fork.TaskKey + ". Look at what is there already, and go on from there. This task is:\n\n" + text
	case begun && (cfg.Feedback != "" || len(cfg.Answers) > 0):
		text = "You have worked on this task before. Look at what is there already, and go on from there. The task was:\n\n" + text
	case begun:
		text = "Your work on this task was cut off. Look at what is there already, and go on from there. The task was:\n\n" + text
	}
	if env.Restored != "" {
		text = env.Restored + "\n\n" + text
	}
	if cfg.Contract != "" {
		text += "\n\n" + cfg.Contract
	}
	if cfg.TestCommand != "" {
		text += "\n\nThe work is accepted only if this command passes: " + cfg.TestCommand
	}
	if cfg.Feedback != "" {
		text = "What was said of the attempt before this one:\n\n" + cfg.Feedback + "\n\n" + text
	}
	if answers := agentconfig.AnswersText(cfg.Answers); answers != "" {
		text = answers + "\n\n" + text
	}
	return text
}
