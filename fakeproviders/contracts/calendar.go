package contracts

import (
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

const calendarSource = "https://developers.google.com/workspace/calendar/api/v3/reference/events (id, iCalUID) and https://developers.google.com/workspace/calendar/api/guides/errors"

// calendar says nothing of how soon a list or a get shows a new event: the documentation names no limit.
func calendar() []bench.Contract {
	ownID := bench.Terms{
		Unique: map[string][]string{"event": {"calendar", "event_id"}},
		LookUp: bench.LookUpTerms{Kind: "lags", By: "attributes"},
	}
	slips := ownID
	slips.UniqueLag, slips.LookUp.Lag = 3*time.Minute, 3*time.Minute // one copy of the calendar does not know yet what another has
	return []bench.Contract{
		honest("google-calendar-own-id", "calendar", "An event id of the caller's, unique in its calendar for ever: a second insert is refused (409 duplicate) and compares nothing else. No lag of a look-up is documented: here none.", calendarSource, ownID),
		honest("google-calendar", "calendar", "No id: every insert is an event. Found by a private extended property; no limit is documented: here after 1 min.", calendarSource,
			bench.Terms{LookUp: bench.LookUpTerms{Kind: "lags", By: "identity", Lag: time.Minute}}),
		lying("google-calendar-own-id-slips", "calendar", "Lies: an id is unique, but a second insert within 3 min of the first is not noticed, nor is the first found so long. The documentation warns that collisions may go undetected and names no time; 3 min is a choice.", ownID, slips),
	}
}
