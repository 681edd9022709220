package task_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestKeyOf_KnowsTheKeysOfEachKind(t *testing.T) {
	t.Parallel()
	for ref, kind := range map[string]string{
		"APP": task.KeyedProject, "a2": task.KeyedProject, "ABCDEFGHIJ": task.KeyedProject,
		"APP-12": task.KeyedTask, "app-1": task.KeyedTask, "APP-T7": task.KeyedTicket, "app2-t10": task.KeyedTicket,
		"A": "", "2A": "", "ABCDEFGHIJK": "", "APP-": "", "APP-0": "", "APP-T0": "", "APP-T": "", "APP-12-3": "", "ÄPP": "", "": "", "APP-12\n": "",
		"0190c0de-0000-7000-8000-000000000001": "", "APP-12345678901": "",
	} {
		for _, one := range []string{task.KeyedProject, task.KeyedTask, task.KeyedTicket, "message"} {
			_, ok := task.KeyOf(one, ref)
			require.Equal(t, one == kind, ok, "%q as a %s", ref, one)
		}
	}
	key, _ := task.KeyOf(task.KeyedTicket, "app-t7")
	require.Equal(t, "APP-T7", key)
}
