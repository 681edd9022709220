package diagnosis

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

// spent is a model whose budget is used up.
type spent struct{}

func (spent) Diagnose(context.Context, supervise.DiagnosisInput, explain.Diagnosis) (supervise.Conclusion, error) {
	return supervise.Conclusion{}, supervise.ErrBudget
}

// All diagnoses of a period share one model and its budget.
func TestService_OneModelPerPeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		made := 0
		s := New(Config{}, Deps{Period: time.Minute, Model: func() supervise.DiagnosisModel { made++; return spent{} }})
		for range 6 { // two periods
			s.ask(t.Context(), supervise.DiagnosisInput{}, explain.Diagnosis{FailureClass: task.ClassAgentError})
			<-time.After(20 * time.Second)
		}
		require.Equal(t, 2, made)
	})
}
