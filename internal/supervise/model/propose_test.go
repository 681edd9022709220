package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/taskcontract"
	modeltest "github.com/omoi-dev/omoi/internal/testkit/model"
)

func proposing(change func(map[string]any)) modeltest.Turn {
	input := map[string]any{
		"allowed_paths": []string{"src/api"}, "forbidden_paths": nil, "forbidden_commands": nil, "constraints": nil,
		"tests_may_change": false, "change_wanted": nil, "test_command": nil,
	}
	if change != nil {
		change(input)
	}
	return modeltest.Turn{Tools: []modeltest.Tool{{Name: "record_contract", Input: input}}, Usage: modeltest.Usage{Input: 1000, Output: 100}}
}

func TestPropose(t *testing.T) {
	t.Parallel()
	m, server := open(t, proposing(func(in map[string]any) { in["allowed_paths"] = []string{"[a"} }), proposing(nil))
	p, err := m.Propose(t.Context(), supervise.TaskText{Title: "Rename the handler", Description: "Leave everything outside of the API alone."})
	require.NoError(t, err)
	require.Equal(t, taskcontract.Contract{AllowedPaths: []string{"src/api"}, TestsMayChange: new(false)}, p.Contract)
	require.Equal(t, 2, p.Use.Calls)
	require.NotEmpty(t, p.Model)
	require.True(t, server.Requests()[0].Offers("record_contract"))
	require.True(t, server.Requests()[0].Says("Leave everything outside"))
	require.True(t, server.Requests()[1].Says("is not a valid pattern"))
}

func TestPropose_InvalidAnswerLeavesAllUnknown(t *testing.T) {
	t.Parallel()
	wrong := proposing(func(in map[string]any) { in["more"] = 1 })
	m, _ := open(t, wrong, wrong, wrong)
	p, err := m.Propose(t.Context(), supervise.TaskText{Title: "x"})
	require.ErrorIs(t, err, supervise.ErrAnswer)
	require.Equal(t, taskcontract.Contract{}, p.Contract)
	require.NotEmpty(t, p.Model)
}
