package app

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/testkit/tables"
)

// faraway is a provider with a name and capabilities only.
type faraway struct{ sandbox.Provider }

func (faraway) Name() string { return tables.Dummy }

func (faraway) Capabilities() sandbox.Capabilities { return task.ProviderOf(tables.Dummy).Capabilities }

// TestNewRow_ReachesEverySurface adds a row to each table, and changes no other code.
//
//nolint:paralleltest // it changes the tables
func TestNewRow_ReachesEverySurface(t *testing.T) {
	tables.AddDummy(t)
	wirings[tables.Dummy] = wiring{
		open:    func(*config.Loaded, *slog.Logger) (sandbox.Provider, error) { return faraway{}, nil },
		reached: func(*config.Loaded) bool { return false },
		doctor: func(context.Context, *config.Loaded) []Finding {
			return []Finding{{Check: tables.Dummy, Status: FindingOK}}
		},
	}
	t.Cleanup(func() { delete(wirings, tables.Dummy) })
	cfg := fresh(t, "OMOI_TASK_PROVIDER=testrow", "OMOI_TASK_AGENT=testrow", "OMOI_PRICE_TESTROW=3.6 EUR/hour", "ANTHROPIC_API_KEY=x", "OMOI_API_PORT=1")

	require.Equal(t, 0.001, prices(cfg.Price)[tables.Dummy].PerSecond)
	require.Contains(t, pulls(cfg), tables.Dummy)
	require.Contains(t, sharedProviders(cfg), tables.Dummy)
	found, err := openProviders(cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	opened, err := found.Provider(tables.Dummy)
	require.NoError(t, err)
	require.Equal(t, tables.Dummy, opened.Name())
	require.NotContains(t, found.hostBound(), tables.Dummy)
	require.Contains(t, Checkup(t.Context(), cfg), Finding{Check: tables.Dummy, Status: FindingOK})
	settings := fmt.Sprint(config.Groups())
	for _, text := range []string{"external testrow]", "price.testrow", "OMOI_TRANSPORT_TESTROW"} {
		require.Contains(t, settings, text)
	}

	service := credential.New(credential.Config{}, nil, nil)
	_, err = service.ForTask(t.Context(), task.Work{Agent: tables.Dummy, Execution: task.Execution{Env: map[string]string{"ANTHROPIC_API_KEY": "x"}}})
	require.NoError(t, err)
}

// TestPorts_AreAllSet fails on a port of the API that is not set, because its first request would panic.
func TestPorts_AreAllSet(t *testing.T) {
	t.Parallel()
	set := reflect.ValueOf(ports(&postgres.Store{}))
	for field, port := range set.Fields() {
		require.False(t, port.IsNil(), field.Name)
	}
}

// Each row has a wiring, and its provider reports the same capabilities.
func TestWirings_MatchTheTable(t *testing.T) {
	t.Parallel()
	for _, p := range task.Providers {
		require.Equal(t, p.Machine, wirings[p.Name].open != nil, p.Name)
	}
	found, err := openProviders(fresh(t), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	for name, p := range found {
		caps := p.Capabilities()
		caps.LongestCreate = 0 // set from the configuration
		require.Equal(t, task.ProviderOf(name).Capabilities, caps)
		require.Equal(t, name, p.Name())
	}
}
