package conformance

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

// isLate reports whether the provider cannot fence a create, and declares how late one may appear. It skips where its
// time cannot be made to pass: nobody waits for that.
func (s *suite) isLate(t T) bool {
	late := s.p.Capabilities().LongestCreate
	if late > 0 && (s.Late == nil || s.Pass == nil) {
		t.Skip("SKIPPED: this provider cannot fence a create; it declares " + late.String() + ", and its time cannot be made to pass here")
	}
	return late > 0
}

// deleteWhileLate deletes while a create is under way that nobody waits for any more. Whatever that makes
// within the declared time is found then, and deleted for good.
func (s *suite) deleteWhileLate(t T) {
	for _, part := range []time.Duration{2, 1} {
		labels := s.newLabels()
		s.isFoundLate(t, labels, func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			asked := s.Late(s.p.Capabilities().LongestCreate/part - time.Second)
			over := make(chan struct{})
			go func() {
				defer close(over)
				_, _ = s.p.Ensure(ctx, sandbox.Spec{Labels: labels})
			}()
			s.eventually(t, "the create is under way", asked)
			cancel()
			<-over
			require.NoError(t, s.p.Delete(t.Context(), labels))
			s.isGone(t, labels)
		})
	}
}

// isFoundLate is what a provider promises that cannot fence: what create leaves behind a delete is there for all to see
// once the declared time has passed, and is gone for good by another delete.
func (s *suite) isFoundLate(t T, labels sandbox.Labels, create func()) {
	create()
	declared := s.p.Capabilities().LongestCreate
	s.Pass(declared)
	s.eventually(t, "the second look finds it", func() bool { return s.inspect(t, labels).State == sandbox.StateAlive })
	require.NoError(t, s.p.Delete(t.Context(), labels))
	s.isGone(t, labels)
	s.Pass(declared)
	s.isGone(t, labels)
}
