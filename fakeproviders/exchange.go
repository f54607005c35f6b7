package fakeproviders

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// errDead says that the provider crashed, or was closed, under a request.
var errDead = errors.New("the provider ended under this request")

// exchange is one request with all that belongs to it. It is used by its connection's goroutine.
type exchange struct {
	p       *provider
	raw     bench.RawRequest
	host    string // as the client addressed it
	call    bench.Call
	conn    *conn
	name    string // r1, r2, ...
	life    int    // of the provider when it arrived
	dead    chan struct{}
	arrival bench.Arrival

	tx       *store.Tx
	key      *store.Key // record to be kept under its key; nil: no key
	claim    *claim     // its claim on the key, while it has one
	claimed  claimID
	original string         // request that the answer is a replay of, or that this one goes on from
	replayed bool           // the answer comes from a key's record
	resumed  *store.Key     // record of an earlier try that this one goes on from; nil: there is none
	prior    []store.Object // what an earlier try under the key made: execute makes the rest
}

// run carries the exchange to its end and says what to do to its connection.
func (x *exchange) run() (bench.Action, answer) {
	act, ans, err := x.live()
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	err = errors.Join(err, x.release(false))
	if x.life != x.p.life {
		return bench.Action{Act: bench.Reset}, answer{} // whatever else came of it
	}
	if err != nil {
		x.p.fault(fmt.Errorf("request %s: %w", x.name, err))
		return bench.Action{Act: bench.Reset}, answer{}
	}
	if d, ok := x.p.kind.(interface{ decorate(*exchange, *answer) }); ok {
		d.decorate(x, &ans)
	}
	return act, ans
}

// live is the life of a request:
//  1. received: the gate may let it die here;
//  2. its key may have an answer already, else the key is claimed;
//  3. it is executed in an open transaction, and the answer is rendered;
//  4. before commit: the gate may have all of it rolled back;
//  5. effect and key record are committed together;
//  6. committed: the answer may yet be lost.
func (x *exchange) live() (bench.Action, answer, error) {
	act, err := x.point(bench.Received, 0)
	if err != nil {
		return act, answer{}, err
	}
	rollback := act.Act == bench.Rollback
	switch act.Act {
	case bench.Pass, bench.Rollback:
	case bench.Fail:
		if _, err := x.take(); err != nil {
			return act, answer{}, err
		}
		return x.fail(act, nil)
	default:
		return act, answer{}, nil
	}
	if k, ok := x.p.kind.(interface {
		admit(r bench.RawRequest) *refusal // what comes before keys: who is there, a body that cannot be read
	}); ok {
		if r := k.admit(x.raw); r != nil {
			return x.silent(x.refuse(*r))
		}
	}
	if known, err := x.take(); err != nil {
		return act, answer{}, err
	} else if known != nil {
		return x.silent(*known)
	}
	x.opened(1)
	defer x.opened(-1)
	for first := true; ; first = false {
		ans, err := x.execute()
		if err != nil {
			return act, answer{}, err
		}
		if len(x.tx.Added()) == 0 {
			return x.silent(ans)
		}
		if first {
			act, err = x.point(bench.BeforeCommit, ans.status)
			switch {
			case err != nil:
				return act, answer{}, err
			case act.Act == bench.Fail:
				x.tx.Rollback()
				return x.fail(act, nil)
			case act.Act == bench.Rollback, act.Act == bench.Pass && rollback:
				x.tx.Rollback()
				x.key = nil
				return x.silent(ans)
			case act.Act != bench.Pass:
				x.tx.Rollback()
				return act, answer{}, nil
			}
		}
		made, err := x.commit(ans)
		if errors.Is(err, store.ErrStale) {
			x.tx.Rollback()
			continue
		}
		if err != nil {
			return act, answer{}, err
		}
		act, err = x.point(bench.Committed, ans.status)
		if err == nil && act.Act == bench.Fail {
			return x.fail(act, made)
		}
		return act, ans, err
	}
}

// point hands the exchange to the gate and carries a crash out. A provider that ended meanwhile is an error.
func (x *exchange) point(at bench.Point, status int) (bench.Action, error) {
	x.arrival.Point, x.arrival.Status = at, status
	act := x.p.gate.Arrive(x.arrival)
	if act.Act == "" {
		act.Act = bench.Pass
	}
	x.p.mu.Lock()
	alive := x.life == x.p.life
	x.p.mu.Unlock()
	if !alive {
		return act, errDead
	}
	if act.Act == bench.CrashAct {
		x.p.crash()
		return act, errDead
	}
	return act, nil
}

func (x *exchange) opened(n int) {
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	x.p.open += n
}

// execute opens the transaction and renders the answer in it.
func (x *exchange) execute() (answer, error) {
	x.p.mu.Lock()
	x.tx = x.p.store.Begin()
	x.p.mu.Unlock()
	if _, rest := x.p.kind.(interface{ makesTheRest() }); len(x.prior) > 0 && !rest {
		return x.nowOf(x.prior), nil // all of it had been made, and only the answer was a failure
	}
	ans, err := x.p.kind.execute(x)
	if err != nil && x.gone() {
		return ans, errDead // the store was dropped under it
	}
	return ans, err
}

// nowOf renders what an earlier try made as it is now.
func (x *exchange) nowOf(made []store.Object) answer {
	kind, mixes := x.p.kind.(interface {
		again(x *exchange, stored answer, made []store.Object) answer
	})
	if !mixes {
		return x.p.kind.current(made)
	}
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	return kind.again(x, answer{status: x.resumed.Status, kind: first(x.resumed.Header["Content-Type"]), body: x.resumed.Body}, made)
}

func (x *exchange) gone() bool {
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	return x.life != x.p.life
}

// commit makes the effects and the key's record durable together, and lets those go on who wait for the key.
func (x *exchange) commit(ans answer) ([]store.Object, error) {
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	if x.life != x.p.life {
		return nil, errDead
	}
	made := x.tx.Added()
	now := x.p.clock.Now()
	if x.key != nil {
		state := store.Done
		if ans.partly {
			state = store.Partly
		}
		k := x.record(ans, state, made)
		x.tx.SaveKey(k)
	}
	if err := x.tx.Commit(now); err != nil {
		return nil, err
	}
	for _, o := range made {
		x.p.seen[o.ID] = x.p.looks
	}
	return made, x.release(true)
}

// record is the key's record with an answer, and with what was made under it.
func (x *exchange) record(ans answer, state string, made []store.Object) store.Key {
	k := *x.key
	for _, o := range slices.Concat(x.prior, made) {
		k.Objects = append(k.Objects, o.ID)
	}
	k.State, k.Status, k.Body, k.Done = state, ans.status, ans.body, x.p.clock.Now()
	k.Header = http.Header{"Content-Type": {ans.kind}}
	return k
}

// fail answers with a failure of the provider's own. What was made stays; the failure is kept under the key
// where the contract keeps failures of the execution (rate limits and conflicts come before it), or is noted
// where a retry is to go on from it.
func (x *exchange) fail(act bench.Action, made []store.Object) (bench.Action, answer, error) {
	ans := x.refuse(refusal{status: act.Status, code: "provider_failure", message: providerFailure})
	before := act.Status == http.StatusTooManyRequests || act.Status == http.StatusConflict || act.Status == http.StatusUnauthorized
	t := x.p.terms.Key
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	if x.life != x.p.life {
		return act, answer{}, errDead
	}
	pass := bench.Action{Act: bench.Pass}
	switch {
	case x.key == nil || before:
		return pass, ans, nil
	case t.ForgetsOnError:
		return pass, ans, errors.Join(x.p.store.DropKey(x.key.Scope, x.key.Name), x.release(true))
	case t.Saves == "executed", t.Saves == "final" && act.Status < 500:
		return pass, ans, errors.Join(x.p.store.SaveKey(x.record(ans, store.Failed, made)), x.release(true))
	case t.Saves == "resumes":
		state := store.Failed
		if len(x.prior)+len(made) > 0 {
			state = store.Partly
		}
		return pass, ans, errors.Join(x.p.store.SaveKey(x.record(ans, state, made)), x.release(true))
	}
	return pass, ans, nil
}

const providerFailure = "An error occurred with our connection to the service."

// keep saves an answer that commits nothing more, where the contract keeps such: a refusal that the execution
// itself came to, or the end of what an earlier try under the key had begun. It needs the provider's lock.
func (x *exchange) keep(ans answer) (kept bool, err error) {
	saves := x.p.terms.Key.Saves
	switch {
	case x.key == nil:
	case ans.executed && (saves == "executed" || saves == "final"):
		return true, x.p.store.SaveKey(x.record(ans, store.Failed, nil))
	case len(x.prior) > 0 && ans.status/100 == 2:
		return true, x.p.store.SaveKey(x.record(ans, store.Done, nil))
	}
	return false, nil
}

// silent ends an exchange whose answer commits nothing: replay, conflict, refusal, read, mirror.
func (x *exchange) silent(ans answer) (bench.Action, answer, error) {
	if x.tx != nil {
		x.tx.Rollback()
	}
	x.p.mu.Lock()
	kept, err := x.keep(ans)
	err = errors.Join(err, x.release(kept))
	x.p.mu.Unlock()
	if err != nil {
		return bench.Action{}, ans, err
	}
	if ans.dedup {
		x.arrival.Note = "dedup record: " + ans.existing
	}
	act, err := x.point(bench.BeforeResponse, ans.status)
	if err != nil {
		return act, ans, err
	}
	switch act.Act {
	case bench.Fail:
		return bench.Action{Act: bench.Pass}, x.refuse(refusal{status: act.Status, code: "provider_failure",
			message: providerFailure}), nil
	case bench.Rollback: // there is nothing to roll back
		act = bench.Action{Act: bench.Pass}
	}
	if act.Act == bench.Pass && ans.dedup {
		x.p.mu.Lock()
		x.p.dedup = append(x.p.dedup, bench.DedupRecord{By: "provider", Request: x.name, Record: ans.existing})
		x.p.mu.Unlock()
	}
	return act, ans, nil
}

// add holds an effect of this request for the commit. An object without an id is given one.
func (x *exchange) add(prefix string, o store.Object) {
	if o.ID == "" {
		o.ID = objectID(prefix, x.name, len(x.tx.Added()))
	}
	o.Principal, o.Request, o.At = x.call.Principal, x.name, x.p.clock.Now()
	x.tx.Add(o)
}

// base is the address that the client reached the provider by.
func (x *exchange) base() string { return "http://" + x.host }

// look returns the objects that fit and that a look-up sees now, oldest first.
func (x *exchange) look(fits func(store.Object) bool) ([]store.Object, error) {
	all, err := x.tx.Objects()
	if err != nil {
		return nil, err
	}
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	x.p.looks++
	now := x.p.clock.Now()
	found := []store.Object{}
	for _, o := range all {
		if fits(o) && x.p.visible(o, now, x.p.looks) {
			found = append(found, o)
		}
	}
	return found, nil
}

// rival is an object of the call's class, still there, that is in the way of another with the same values
// in the attributes that the contract makes unique; nil: there is none.
func (x *exchange) rival() (*store.Object, error) {
	unique := x.p.terms.Unique[x.call.Class]
	if len(unique) == 0 {
		return nil, nil
	}
	all, err := x.tx.Objects()
	if err != nil {
		return nil, err
	}
	now := x.p.clock.Now()
	for _, o := range all {
		if o.Class != x.call.Class || slices.ContainsFunc(unique, func(name string) bool { return o.Attrs[name] != x.call.Attrs[name] }) {
			continue
		}
		if end, ended := x.p.endOf(o, all); !ended || end.After(now) {
			return &o, nil
		}
	}
	return nil, nil
}

// refuse renders an error, in the words of the wire that the request came over where a kind has several.
func (x *exchange) refuse(r refusal) answer {
	if k, ok := x.p.kind.(interface {
		refuseTo(x *exchange, r refusal) answer
	}); ok {
		return k.refuseTo(x, r)
	}
	return x.p.kind.refuse(r)
}

// findsByReference says whether the contract has a look-up by reference.
func (x *exchange) findsByReference() bool {
	l := x.p.terms.LookUp
	return l.Kind != "" && l.Kind != "none" && l.By == "identity"
}

var noLookUp = refusal{status: http.StatusBadRequest, code: "look_up_not_supported", message: "There is no look-up by reference."}
