package credential

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// ForTask returns the variables that credentials set in a task's sandbox. The credentials are the names in the task's
// execution config, or, if the config has no such list, the model credential that the agent needs. Variables for model
// access in the task's own env replace the model credential. Of several credentials of one owner and kind, env has the
// one that the attempt was given, else the first. If a credential is missing, the error has
// [task.CodeNotFound] and the next step; env still holds the variables of the others.
func (s *Service) ForTask(ctx context.Context, work task.Work) (map[string]string, error) {
	env, _, err := s.forTask(ctx, work)
	return env, err
}

// Give is [Service.ForTask] and records the use of each credential. For an agent of the runtime command without
// variables, Give records that the attempt has no credential: a rate limit then counts for this task only.
func (s *Service) Give(ctx context.Context, work task.Work) (map[string]string, error) {
	env, all, err := s.forTask(ctx, work)
	if err == nil && len(env) == 0 && task.RuntimeOf(work.Agent).Input == task.InputCommand {
		return env, s.store.UseNoCredential(ctx, work.TaskID)
	}
	for _, found := range all {
		if err == nil {
			err = s.used(ctx, found)
		}
	}
	return env, err
}

// Hidden returns the variables that a log of a task's sandboxes must not show: those of [Service.ForTask], and those of
// each other credential of the same owner and kind, which an earlier attempt may have been given. Their names differ from
// those in the sandbox.
func (s *Service) Hidden(ctx context.Context, work task.Work) (map[string]string, error) {
	env, err := s.ForTask(ctx, work)
	names, _ := wanted(work)
	if err != nil || len(names) == 0 {
		return env, err
	}
	who := Who{OrganizationID: work.OrganizationID, UserID: work.UserID, ProjectID: work.ProjectID}
	rows, err := s.store.Credentials(ctx, who)
	for _, name := range names {
		for _, row := range nearest(rows, who, name) {
			if found, unreadable := s.open(row); unreadable == nil {
				addNumbered(env, found)
			}
		}
	}
	return env, err
}

// addNumbered adds the variables of a credential under names that contain its number.
func addNumbered(env map[string]string, found Found) {
	for variable, value := range found.env() {
		env[fmt.Sprintf("%s %d", variable, found.Number)] = value
	}
}

func (s *Service) forTask(ctx context.Context, work task.Work) (env map[string]string, all []Found, err error) {
	names, optional := wanted(work)
	if len(names) == 0 {
		return nil, nil, nil
	}
	who := Who{OrganizationID: work.OrganizationID, UserID: work.UserID, ProjectID: work.ProjectID}
	rows, err := s.store.Credentials(ctx, who)
	if err != nil {
		return nil, nil, fmt.Errorf("find credentials of task %s: %w", work.TaskID, err)
	}
	env = map[string]string{}
	for _, name := range names {
		found, none := s.choose(rows, who, name, work.Credential)
		switch endpoint := s.endpoint(who, name); {
		case none == nil:
			all = append(all, found)
			maps.Copy(env, found.env())
		case found.Kind == "" && (optional || endpoint != nil):
			maps.Copy(env, endpoint)
		default:
			err = cmp.Or(err, none)
		}
	}
	return env, all, err
}

// wanted returns the credential names of a task. optional reports that the task may start without: a command agent may
// bring its own access.
func wanted(work task.Work) (names []string, optional bool) {
	if work.Execution.Credentials != nil {
		return work.Execution.Credentials, false
	}
	if ReachesModel(work.Agent, work.Execution.Env) {
		return nil, false
	}
	runtime := task.RuntimeOf(work.Agent)
	if optional = runtime.Input == task.InputCommand; optional || runtime.NeedsModel {
		return []string{ForAgent(work.Agent)}, optional
	}
	return nil, false
}

// ForAgent returns the name of the credential that an agent gets if its task names none.
func ForAgent(agent string) string { return cmp.Or(task.RuntimeOf(agent).Credential, Model) }

// ReachesModel reports whether env has a variable that configures an agent's access to a model.
func ReachesModel(agent string, env map[string]string) bool {
	if access := task.RuntimeOf(agent).Access; access != nil {
		return slices.ContainsFunc(access, func(of string) bool { return cmp.Or(env[of+"_API_KEY"], env[of+"_BASE_URL"]) != "" })
	}
	return slices.ContainsFunc([]string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX",
	}, func(name string) bool { return env[name] != "" })
}

// endpoint returns the variables of the configured model endpoint that needs no key; nil if none is configured.
func (s *Service) endpoint(w Who, name string) map[string]string {
	own := s.cfg.Installation[Anthropic]
	if name != Model || w.OrganizationID != s.cfg.Organization || own.BaseURL == "" || own.Secret != "" {
		return nil
	}
	return Found{Kind: Anthropic, Value: own}.env()
}

func (s *Service) used(ctx context.Context, f Found) error {
	if f.rowID == "" {
		return nil
	}
	if err := s.store.UseCredential(ctx, f.rowID); err != nil {
		return fmt.Errorf("record use of the %s: %w", nameOf(f.Kind), err)
	}
	return nil
}

// env returns the variables of a credential. The names are those of legacy workers.
func (f Found) env() map[string]string {
	all := map[string]string{}
	switch f.Kind {
	case ClaudeOAuth:
		all["CLAUDE_CODE_OAUTH_TOKEN"] = f.Secret
		maps.Copy(all, f.Models.env())
	case Anthropic:
		all["ANTHROPIC_API_KEY"], all["ANTHROPIC_BASE_URL"] = f.Secret, f.BaseURL
		if f.Bearer {
			all["ANTHROPIC_API_KEY"], all["ANTHROPIC_AUTH_TOKEN"] = "", f.Secret
		}
		maps.Copy(all, f.Models.env())
	case GitHub:
		all["GITHUB_TOKEN"], all["GH_TOKEN"] = f.Secret, f.Secret
	default:
		name := strings.ToUpper(f.Kind)
		all[name+"_API_KEY"], all[name+"_BASE_URL"], all[name+"_MODEL"] = f.Secret, f.BaseURL, f.Model
	}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

func (m Models) env() map[string]string {
	return map[string]string{
		"MODEL": m.Model, "ANTHROPIC_MODEL": m.Model, "ANTHROPIC_DEFAULT_MODEL": m.Model,
		"ANTHROPIC_DEFAULT_HAIKU_MODEL": m.Haiku, "ANTHROPIC_DEFAULT_SONNET_MODEL": m.Sonnet, "ANTHROPIC_DEFAULT_OPUS_MODEL": m.Opus,
	}
}
