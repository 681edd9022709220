package worker

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/activities"
	"github.com/omoi-dev/omoi/internal/contract"
)

// book notes what is registered.
type book struct {
	workflows, activities map[string]any
}

func newBook() *book { return &book{workflows: map[string]any{}, activities: map[string]any{}} }

func (b *book) RegisterWorkflowWithOptions(w any, o workflow.RegisterOptions) {
	b.workflows[o.Name] = w
}

func (b *book) RegisterActivityWithOptions(a any, o activity.RegisterOptions) {
	b.activities[o.Name] = a
}

func registered() *book {
	b := newBook()
	a := activities.New(activities.Config{}, activities.Deps{})
	registerTasks(b, a)
	registerActivities(b, relayList(a))
	return b
}

// activityTypes is what histories freeze of each activity.
func activityTypes() map[string]any {
	type ctx = context.Context
	return map[string]any{
		contract.LoadTask:           func(ctx, contract.TaskRef) (contract.LoadedTask, error) { panic("type only") },
		contract.SaveTaskState:      func(ctx, contract.Projection) (contract.Projected, error) { panic("type only") },
		contract.BeginAttempt:       func(ctx, contract.BeginAttemptInput) (contract.BeginAttemptResult, error) { panic("type only") },
		contract.LoadCommand:        func(ctx, contract.LoadCommandInput) (contract.LoadedCommand, error) { panic("type only") },
		contract.LoadEvents:         func(ctx, contract.LoadEventsInput) (contract.Digest, error) { panic("type only") },
		contract.EnsureBranch:       func(ctx, contract.EnsureBranchInput) (contract.BranchResult, error) { panic("type only") },
		contract.PublishBranch:      func(ctx, contract.BranchInput) error { panic("type only") },
		contract.OpenPullRequest:    func(ctx, contract.PullInput) (contract.PullResult, error) { panic("type only") },
		contract.EnsureSandbox:      func(ctx, contract.SandboxRef) (contract.SpawnedSandbox, error) { panic("type only") },
		contract.StartAgent:         func(ctx, contract.StartAgentInput) (contract.Projected, error) { panic("type only") },
		contract.StopAgent:          func(ctx, contract.SandboxRef) error { panic("type only") },
		contract.CheckAgent:         func(ctx, contract.CheckAgentInput) (contract.Observation, error) { panic("type only") },
		contract.RepeatTests:        func(ctx, contract.RepeatTestsInput) (contract.RepeatedTests, error) { panic("type only") },
		contract.CollectWork:        func(ctx, contract.SandboxRef) (contract.Collected, error) { panic("type only") },
		contract.RelaySandbox:       func(ctx, contract.SandboxRef) (contract.PullRelayTurn, error) { panic("type only") },
		contract.FlushSpool:         func(ctx, contract.SandboxRef) error { panic("type only") },
		contract.LoadSandbox:        func(ctx, contract.SandboxRef) (contract.LoadedSandbox, error) { panic("type only") },
		contract.Salvage:            func(ctx, contract.SandboxRef) (contract.SalvageResult, error) { panic("type only") },
		contract.DeleteSandbox:      func(ctx, contract.SandboxRef) error { panic("type only") },
		contract.VerifyDeleted:      func(ctx, contract.SandboxRef) (contract.VerifyDeletedResult, error) { panic("type only") },
		contract.RecordSandboxState: func(ctx, contract.RecordSandboxStateInput) error { panic("type only") },
		contract.ListReaperTargets:  func(ctx) (contract.ListReaperTargetsResult, error) { panic("type only") },
		contract.FindOrphans:        func(ctx, contract.FindOrphansInput) (contract.Orphans, error) { panic("type only") },
		contract.StartCleanup:       func(ctx, contract.CleanupInput) error { panic("type only") },
		contract.ReconcileTasks:     func(ctx) (contract.ReconcileTasksResult, error) { panic("type only") },
		contract.AdmitTasks:         func(ctx) error { panic("type only") },
		contract.PauseIdleReaper:    func(ctx) (contract.PauseIdleReaperResult, error) { panic("type only") },

		contract.BeginGuardianCycle: func(ctx, contract.CycleRef) (contract.BegunCycle, error) { panic("type only") },
		contract.AnalyzeAgents:      func(ctx, contract.Range) (contract.CycleProgress, error) { panic("type only") },
		contract.EndGuardianCycle:   func(ctx, contract.CycleReport) error { panic("type only") },

		contract.BeginConductorCycle:  func(ctx, contract.CycleRef) (contract.BegunCycle, error) { panic("type only") },
		contract.AnalyzeOrganizations: func(ctx, contract.Range) (contract.CycleProgress, error) { panic("type only") },
		contract.EndConductorCycle:    func(ctx, contract.CycleReport) error { panic("type only") },

		contract.BeginRetention: func(ctx) (contract.RetentionBegun, error) { panic("type only") },
		contract.RemoveExpired:  func(ctx, contract.RetentionStep) (contract.RetentionDone, error) { panic("type only") },
	}
}

func workflowTypes() map[string]any {
	return map[string]any{
		contract.TaskWorkflow: func(workflow.Context, contract.TaskInput) (contract.TaskResult, error) { panic("type only") },
		contract.CleanupWorkflow: func(workflow.Context, contract.CleanupInput) (contract.CleanupReceipt, error) {
			panic("type only")
		},
		contract.ReaperWorkflow:    func(workflow.Context) (contract.ReaperReport, error) { panic("type only") },
		contract.GuardianWorkflow:  func(workflow.Context) (contract.CycleReport, error) { panic("type only") },
		contract.ConductorWorkflow: func(workflow.Context) (contract.CycleReport, error) { panic("type only") },
		contract.RetentionWorkflow: func(workflow.Context) (contract.RetentionReport, error) { panic("type only") },
		contract.PullRelayWorkflow: func(workflow.Context, contract.PullRelayInput) (contract.PullRelayResult, error) { panic("type only") },
	}
}

func TestRegisteredTypesMatchTheContract(t *testing.T) {
	t.Parallel()
	b := registered()
	requireTypes(t, activityTypes(), b.activities)
	requireTypes(t, workflowTypes(), b.workflows)
}

func requireTypes(t *testing.T, want, got map[string]any) {
	t.Helper()
	require.Len(t, got, len(want))
	for name, fn := range want {
		require.Contains(t, got, name)
		require.Equal(t, reflect.TypeOf(fn), reflect.TypeOf(got[name]), name)
	}
}

// Each name that a history can hold is registered, also a name that is added later.
func TestEveryNameOfTheContractIsRegistered(t *testing.T) {
	t.Parallel()
	b := registered()
	for _, group := range constants(t, "../internal/contract/names.go") {
		var known map[string]any
		switch {
		case strings.HasPrefix(group.doc, "Workflow types"):
			known = b.workflows
		case strings.HasPrefix(group.doc, "Activity names"):
			known = b.activities
		default:
			continue
		}
		require.Len(t, known, len(group.values), group.doc)
		for _, name := range group.values {
			require.Contains(t, known, name)
		}
	}
}

func TestSandboxQueues_HaveSandboxActivitiesOnly(t *testing.T) {
	t.Parallel()
	b := newBook()
	a := activities.New(activities.Config{}, activities.Deps{})
	registerActivities(b, sandboxList(a))
	require.Empty(t, b.workflows)
	require.Len(t, b.activities, len(sandboxList(a)))
	for _, one := range quickList(a) {
		require.NotContains(t, b.activities, one.name)
	}
}

type group struct {
	doc    string
	values []string
}

// constants reads the string constants of a file, by declaration.
func constants(t *testing.T, path string) []group {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	require.NoError(t, err)
	var groups []group
	for _, decl := range file.Decls {
		g, ok := decl.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		one := group{doc: g.Doc.Text()}
		for _, s := range g.Specs {
			for _, v := range s.(*ast.ValueSpec).Values {
				lit, ok := v.(*ast.BasicLit)
				require.True(t, ok, "a name is spelled out")
				text, err := strconv.Unquote(lit.Value)
				require.NoError(t, err)
				one.values = append(one.values, text)
			}
		}
		groups = append(groups, one)
	}
	require.NotEmpty(t, groups)
	return groups
}
