package activities

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/task"
)

// Limits of continuous mode, with the defaults of OmoiOS. The execution_config of a task can set others.
const (
	maxIterations   = "10"
	maxTotalCostUSD = "20.0"
	maxDurationSecs = "3600"
)

// reportsTo holds the sandbox ID of an agent and the base URL of the API for its events.
type reportsTo struct{ sandboxID, callback string }

// workerEnv returns the environment of the agent's program, which is the contract with legacy workers. It holds the
// credentials given. The task's own configuration overrides all variables but those that name the worker, its user and
// the API.
func workerEnv(work task.Work, phase Phase, given map[string]string, workspace string, to reportsTo) map[string]string {
	env := map[string]string{
		"PHASE_ID":           work.PhaseID,
		"EXECUTION_MODE":     work.Mode,
		"IS_SANDBOX":         "1",
		"OMOIOS_PROJECT_ID":  work.ProjectID,
		"CONTINUOUS_MODE":    strconv.FormatBool(work.Continuous),
		"TASK_DESCRIPTION":   cmp.Or(work.Description, work.Title),
		"TICKET_ID":          work.TicketID,
		"TICKET_TITLE":       work.TicketTitle,
		"TICKET_DESCRIPTION": work.TicketDescription,
		"TICKET_TYPE":        work.TicketType,
		"TICKET_PRIORITY":    work.Priority,
		"TASK_DATA_BASE64":   taskData(work),
		"WORKSPACE_PATH":     workspace,
	}
	maps.Copy(env, phaseEnv(phase))
	if work.Continuous {
		maps.Copy(env, continuousEnv(work))
	}
	if work.Repo != "" {
		maps.Copy(env, repoEnv(work))
	}
	if _, key, ok := strings.Cut(to.callback, "/t/"); ok { // valid for this sandbox only
		env["OMOIOS_API_KEY"] = key
	}
	maps.Copy(env, given)
	maps.Copy(env, work.Execution.Env)
	if work.UserID != "" {
		env["USER_ID"] = work.UserID
	}
	if work.Contract != "" {
		env["OMOI_TASK_CONTRACT"] = work.Contract
	}
	maps.Copy(env, validatorEnv(work))
	maps.Copy(env, map[string]string{
		"AGENT_ID":        to.sandboxID,
		"TASK_ID":         work.TaskID,
		"SANDBOX_ID":      to.sandboxID,
		"CALLBACK_URL":    to.callback,
		"OMOIOS_API_URL":  to.callback,
		"MCP_SERVER_URL":  to.callback + "/mcp",
		"OMOI_SANDBOX_ID": to.sandboxID,
	})
	return env
}

// continuousEnv says when work is complete. omoi opens the pull request itself, so a worker does not wait for one.
func continuousEnv(work task.Work) map[string]string {
	strict := strconv.FormatBool(strict(work))
	return map[string]string{
		"MAX_ITERATIONS":       maxIterations,
		"MAX_TOTAL_COST_USD":   maxTotalCostUSD,
		"MAX_DURATION_SECONDS": maxDurationSecs,
		"REQUIRE_CLEAN_GIT":    strict,
		"REQUIRE_CODE_PUSHED":  strict,
		"REQUIRE_PR_CREATED":   "false",
	}
}

// repoEnv names the branch and the repository. A local path is meaningless in a sandbox and is left out.
func repoEnv(work task.Work) map[string]string {
	env := map[string]string{"BRANCH_NAME": work.Branch}
	owner, name, ok := strings.Cut(work.Repo, "/")
	if ok && !filepath.IsAbs(work.Repo) {
		env["GITHUB_REPO"], env["GITHUB_REPO_OWNER"], env["GITHUB_REPO_NAME"] = work.Repo, owner, name
	}
	return env
}

// taskData returns the JSON document of TASK_DATA_BASE64.
func taskData(work task.Work) string {
	type entry struct {
		ID          string `json:"id"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Type        string `json:"type,omitempty"`
		Phase       string `json:"phase_id,omitempty"`
		Priority    string `json:"priority,omitempty"`
	}
	doc := struct {
		Text     string            `json:"task_description"` // a legacy worker reads this field first
		Task     entry             `json:"task"`
		Ticket   entry             `json:"ticket"`
		Revision map[string]string `json:"revision,omitempty"`
		Markdown string            `json:"_markdown_context"` //nolint:tagliatelle // the replaced system's name
	}{
		Text: cmp.Or(work.Description, work.Title),
		Task: entry{
			ID: work.TaskID, Title: work.Title, Description: work.Description,
			Type: work.TaskType, Phase: work.PhaseID, Priority: work.Priority,
		},
		Ticket:   entry{ID: work.TicketID, Title: work.TicketTitle, Description: work.TicketDescription, Type: work.TicketType},
		Markdown: "# " + work.Title + "\n\n" + work.Description + "\n",
	}
	if work.Contract != "" {
		doc.Markdown += "\n## Task contract\n\n" + work.Contract + "\n"
	}
	if answers := agentconfig.AnswersText(work.Answers); answers != "" {
		doc.Markdown += "\n## Answers\n\n" + answers + "\n"
	}
	if work.Feedback != "" {
		doc.Revision = map[string]string{"feedback": work.Feedback}
		doc.Markdown += "\n## Feedback\n\n" + work.Feedback + "\n"
	}
	text, err := json.Marshal(doc)
	if err != nil { // cannot fail: all values are strings
		return ""
	}
	return base64.StdEncoding.EncodeToString(text)
}

// priced adds model prices to an environment. Prices of the project override configured ones. The task's own
// environment cannot set prices, since its budget depends on them.
func (a *Activities) priced(work task.Work, env map[string]string) map[string]string {
	env["OMOI_MODEL_PRICES"] = strings.Trim(work.ModelPrices+","+a.cfg.ModelPrices, ", ")
	env["OMOI_MODEL_PRICES_DATE"] = a.cfg.PricesDate
	if work.ModelPrices != "" { // PricesDate applies to the configured prices only
		env["OMOI_MODEL_PRICES_DATE"] = ""
	}
	return env
}
