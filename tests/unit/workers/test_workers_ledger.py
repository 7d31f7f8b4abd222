"""The ledger: what is asked for, who works, what is sent, when a job is done and who gets the name."""

from __future__ import annotations

import dataclasses

import pytest

from labelgrove.ontology.errors import NotFoundError
from labelgrove.workers.ledger.ledger import RESEND_S, Ledger
from labelgrove.workers.ledger.publications import Publications
from labelgrove.workers.ledger.specs import PlannedJob
from labelgrove.workers.ledger.states import Beat, State
from tests.integration.workers_support import plan_parts

pytestmark = pytest.mark.parametrize(
    "engine", ["sqlite", pytest.param("postgresql", marks=pytest.mark.services)], indirect=True
)

LEASE_S = 60.0
FAR = 10**6


def keys_of(plan: PlannedJob, stage: int = 0) -> list[str]:
    return [unit.key for unit in plan.units if unit.stage == stage]


def complete(ledger: Ledger, key: str) -> None:
    """Claim and commit one unit; its artifact is called after it."""
    claim = ledger.claim(key, lease_s=LEASE_S)
    assert claim is not None
    assert ledger.commit(claim, key[::-1], 8)


def finish(ledger: Ledger, plan: PlannedJob) -> None:
    for unit in plan.units:
        if ledger.unit(unit.key).state is not State.DONE:
            complete(ledger, unit.key)
    ledger.settle()


def test_the_same_request_is_one_job(ledger):
    plan = plan_parts([1, 2])
    ledger.submit(plan)
    complete(ledger, keys_of(plan)[0])
    ledger.submit(plan)
    job = ledger.job(plan.id)
    assert job.units == {"done": 1, "pending": 2}
    assert job.state is State.RUNNING
    assert len(ledger.jobs()) == 1


def test_shared_units_are_computed_once(ledger):
    one, other = plan_parts([1, 2]), plan_parts([2, 3])
    ledger.submit(one)
    ledger.submit(other)
    finish(ledger, one)
    assert ledger.job(one.id).state is State.DONE
    assert ledger.job(other.id).units == {"done": 1, "pending": 2}


def test_a_later_stage_waits_for_all_units_of_the_earlier_ones(ledger):
    plan = plan_parts([1, 2])
    ledger.submit(plan)
    (last,) = keys_of(plan, stage=1)
    first, second = keys_of(plan)
    complete(ledger, first)
    assert ledger.claim(last, lease_s=LEASE_S) is None
    assert last not in [key for key, _, _ in ledger.due(FAR)]
    complete(ledger, second)
    assert [key for key, _, _ in ledger.due(FAR)] == [last]
    claim = ledger.claim(last, lease_s=LEASE_S)
    assert claim.inputs == (first[::-1], second[::-1])


def test_a_job_is_done_with_its_last_unit_and_has_its_artifact(ledger, clock):
    plan = plan_parts([1, 2])
    ledger.submit(plan)
    for key in keys_of(plan):
        complete(ledger, key)
        assert ledger.settle(key) == []
    (last,) = keys_of(plan, stage=1)
    complete(ledger, last)
    clock.time += 1
    assert ledger.settle(last) == [plan.id]
    assert ledger.settle(last) == []
    job = ledger.job(plan.id)
    assert (job.state, job.result_sha256, job.finished_at) == (State.DONE, last[::-1], clock.time)
    assert job.finished


def test_a_failed_unit_fails_its_jobs_and_stops_what_nobody_else_wants(ledger):
    one, other = plan_parts([1, 2]), plan_parts([2, 3])
    ledger.submit(one, target={"name": "wanted"})
    ledger.submit(other)
    own = next(key for key in keys_of(one) if key not in keys_of(other))
    assert ledger.job(one.id).publishing
    ledger.fail(ledger.claim(own, lease_s=LEASE_S), "the number one is evil")
    assert ledger.settle(own) == [one.id]
    job = ledger.job(one.id)
    assert (job.state, job.error, job.publishing) == (State.FAILED, "the number one is evil", False)
    assert job.units == {"failed": 1, "pending": 1, "cancelled": 1}  # the shared unit goes on
    finish(ledger, other)
    assert ledger.job(other.id).state is State.DONE


def test_asking_again_retries_what_failed_and_keeps_what_is_done(ledger):
    plan = plan_parts([1, 2])
    ledger.submit(plan)
    first, second = keys_of(plan)
    complete(ledger, first)
    ledger.fail(ledger.claim(second, lease_s=LEASE_S), "no")
    ledger.settle()
    ledger.submit(plan)
    job = ledger.job(plan.id)
    assert (job.state, job.error, job.finished_at) == (State.RUNNING, None, None)
    assert job.units == {"done": 1, "pending": 2}
    assert ledger.unit(second).attempts == 0
    finish(ledger, plan)
    assert ledger.job(plan.id).state is State.DONE


def test_cancel_stops_pending_units_at_once_and_running_ones_at_the_heartbeat(ledger):
    plan = plan_parts([1, 2])
    ledger.submit(plan)
    running, waiting = keys_of(plan)
    claim = ledger.claim(running, lease_s=LEASE_S)
    assert ledger.heartbeat(claim, lease_s=LEASE_S) is Beat.HELD
    ledger.cancel(plan.id)
    assert ledger.claim(waiting, lease_s=LEASE_S) is None
    assert ledger.due(FAR) == []
    assert ledger.heartbeat(claim, lease_s=LEASE_S) is Beat.UNWANTED
    assert ledger.abandon(claim)
    assert ledger.heartbeat(claim, lease_s=LEASE_S) is Beat.LOST
    assert ledger.job(plan.id).units == {"cancelled": 3}
    ledger.cancel(plan.id)  # again: harmless


def test_a_unit_that_another_job_wants_survives_a_cancel(ledger):
    one, other = plan_parts([1, 2]), plan_parts([2, 3])
    ledger.submit(one)
    ledger.submit(other)
    (shared,) = set(keys_of(one)) & set(keys_of(other))
    claim = ledger.claim(shared, lease_s=LEASE_S)
    ledger.cancel(one.id)
    assert ledger.heartbeat(claim, lease_s=LEASE_S) is Beat.HELD
    ledger.cancel(other.id)
    assert ledger.heartbeat(claim, lease_s=LEASE_S) is Beat.UNWANTED


def test_a_unit_abandoned_while_it_was_asked_for_again_is_taken_up_by_the_sweep(ledger):
    plan = plan_parts([1])
    ledger.submit(plan)
    claim = ledger.claim(keys_of(plan)[0], lease_s=LEASE_S)
    ledger.cancel(plan.id)
    ledger.submit(plan)
    assert ledger.abandon(claim)  # it had seen the cancellation, not the second request
    ledger.settle()
    assert ledger.unit(claim.key).state is State.PENDING


def test_what_a_cancelled_jobs_lost_worker_held_ends_cancelled(ledger, clock):
    plan = plan_parts([1])
    ledger.submit(plan)
    ledger.claim(keys_of(plan)[0], lease_s=LEASE_S)
    ledger.cancel(plan.id)
    clock.time += LEASE_S + 1
    ledger.expire()
    ledger.settle()
    assert ledger.job(plan.id).units == {"cancelled": 2}


def test_a_lost_artifact_is_computed_again(ledger):
    plan = plan_parts([1])
    ledger.submit(plan)
    finish(ledger, plan)
    ledger.recompute(plan.id)
    job = ledger.job(plan.id)
    assert (job.state, job.result_sha256, job.units) == (State.PENDING, None, {"pending": 2})
    finish(ledger, plan)
    assert ledger.job(plan.id).state is State.DONE


def test_what_is_computed_again_is_sent_in_its_order_and_at_once(ledger):
    one, other = plan_parts([1, 2]), plan_parts([2, 3])
    ledger.submit(one)
    finish(ledger, one)
    ledger.submit(other)
    (shared,) = set(keys_of(one)) & set(keys_of(other))
    (own,) = set(keys_of(other)) - {shared}
    ledger.recompute(one.id)
    complete(ledger, own)
    assert sorted(key for key, _, _ in ledger.due(FAR)) == sorted(keys_of(one))  # and neither of the last
    for key in keys_of(one):
        complete(ledger, key)
    lasts = keys_of(one, stage=1) + keys_of(other, stage=1)
    assert sorted(key for key, _, _ in ledger.due(FAR)) == sorted(lasts)


def test_a_lost_input_is_computed_again_for_who_needs_it(ledger, clock):
    one, other = plan_parts([1, 2]), plan_parts([2, 3])
    ledger.submit(one)
    ledger.submit(other)
    finish(ledger, one)
    (shared,) = set(keys_of(one)) & set(keys_of(other))
    (own,) = set(keys_of(other)) - {shared}
    complete(ledger, own)
    (last,) = keys_of(other, stage=1)
    late = ledger.claim(last, lease_s=LEASE_S)
    clock.time += LEASE_S + 1
    claim = ledger.claim(last, lease_s=LEASE_S)
    assert not ledger.inputs_lost(late, [own[::-1]], "damaged")  # another worker has its lease
    assert ledger.unit(last).state is State.RUNNING
    ledger.due(FAR)
    assert ledger.inputs_lost(claim, [shared[::-1]], "damaged")
    assert not ledger.inputs_lost(claim, [own[::-1]], "damaged")  # it has let go of the claim
    assert ledger.job(one.id).state is State.DONE  # its own result is another artifact
    assert ledger.unit(own).state is State.DONE
    assert (ledger.unit(shared).state, ledger.unit(shared).sha256) == (State.PENDING, None)
    assert [key for key, _, _ in ledger.due(FAR)] == [shared]
    assert ledger.claim(last, lease_s=LEASE_S) is None
    complete(ledger, shared)
    assert [key for key, _, _ in ledger.due(FAR)] == [last]
    assert ledger.claim(last, lease_s=LEASE_S).attempts == 3


def test_a_lost_input_that_is_another_jobs_result_opens_that_job(ledger, engine):
    plan = plan_parts([1])
    ledger.submit(plan)
    (first,) = keys_of(plan)
    alone = PlannedJob("a" * 64, plan.kind, plan.version, plan.spec_json, plan.units[:1], plan.parameters)
    ledger.submit(alone)
    complete(ledger, first)
    assert ledger.settle(first) == [alone.id]
    claim = ledger.claim(keys_of(plan, stage=1)[0], lease_s=LEASE_S)
    assert ledger.inputs_lost(claim, claim.inputs, "gone")
    assert (ledger.job(alone.id).state, ledger.job(alone.id).result_sha256) == (State.PENDING, None)
    finish(ledger, plan)
    assert {ledger.job(job_id).state for job_id in (plan.id, alone.id)} == {State.DONE}


def test_inputs_lost_again_and_again_end_at_the_cap(engine, clock):
    ledger = Ledger(engine, clock=clock, max_attempts=3)
    plan = plan_parts([1])
    ledger.submit(plan)
    (first,), (last,) = keys_of(plan), keys_of(plan, stage=1)
    for _ in range(3):
        complete(ledger, first)
        claim = ledger.claim(last, lease_s=LEASE_S)
        assert ledger.inputs_lost(claim, claim.inputs, "gone")
    assert ledger.settle() == [plan.id]
    assert ledger.job(plan.id).error == "gone (attempt 3 of 3)"
    assert ledger.unit(first).state is State.DONE
    ledger.retry(plan.id)
    claim = ledger.claim(last, lease_s=LEASE_S)
    assert ledger.inputs_lost(claim, claim.inputs, "gone")
    finish(ledger, plan)
    assert ledger.job(plan.id).state is State.DONE


def test_an_ended_lease_frees_the_unit_and_the_cap_fails_it(engine, clock):
    ledger = Ledger(engine, clock=clock, max_attempts=3)
    plan = plan_parts([1])
    ledger.submit(plan)
    (key,) = keys_of(plan)
    for attempt in (1, 2, 3):
        assert ledger.claim(key, lease_s=LEASE_S).attempts == attempt
        assert ledger.expire() == 0
        clock.time += LEASE_S + 1
        assert ledger.expire() == 1
    assert ledger.unit(key).state is State.FAILED
    assert ledger.settle() == [plan.id]
    assert "lost 3 times" in ledger.job(plan.id).error


def test_release_waits_and_counts_towards_the_cap(engine, clock):
    ledger = Ledger(engine, clock=clock, max_attempts=2)
    plan = plan_parts([1])
    ledger.submit(plan)
    (key,) = keys_of(plan)
    ledger.due(FAR)
    ledger.release(ledger.claim(key, lease_s=LEASE_S), "busy", delay_s=30)
    assert ledger.due(FAR) == []
    clock.time += 31
    assert [found for found, _, _ in ledger.due(FAR)] == [key]
    ledger.release(ledger.claim(key, lease_s=LEASE_S), "busy", delay_s=30)
    assert ledger.unit(key).state is State.FAILED
    assert ledger.unit(key).error == "busy (attempt 2 of 2)"


def test_what_a_patient_process_gave_back_an_impatient_one_takes_up(engine, clock):
    patient = Ledger(engine, clock=clock, max_attempts=10)
    plan = plan_parts([1])
    patient.submit(plan)
    (key,) = keys_of(plan)
    for _ in range(5):
        patient.release(patient.claim(key, lease_s=LEASE_S), "busy", delay_s=1)
    impatient = Ledger(engine, clock=clock, max_attempts=4)
    claim = impatient.claim(key, lease_s=LEASE_S)
    assert claim.attempts == 6
    impatient.release(claim, "busy", delay_s=1)
    assert impatient.unit(key).state is State.FAILED


def test_the_window_bounds_the_messages_that_are_out(ledger, clock):
    plan = plan_parts(list(range(10)))
    ledger.submit(plan)
    sent = [key for key, _, _ in ledger.due(4)]
    assert len(sent) == 4
    assert ledger.due(4) == []
    ledger.claim(sent[0], lease_s=LEASE_S)
    assert ledger.due(4) == []  # room for one, but each time costs a write: half a window at least
    ledger.claim(sent[1], lease_s=LEASE_S)
    more = [key for key, _, _ in ledger.due(4)]
    assert len(more) == 2
    assert not set(more) & set(sent)
    clock.time += 2 * RESEND_S[0]  # messages that nobody took make room when they are due again
    assert len(ledger.due(4)) == 4
    assert ledger.due(4) == []


def test_what_nobody_claims_is_sent_again_at_growing_intervals(ledger, clock):
    plan = plan_parts([1])
    ledger.submit(plan)
    ledger.due(FAR)
    for pause in (*RESEND_S, RESEND_S[-1]):
        clock.time += pause - 0.1
        assert ledger.due(FAR) == []
        clock.time += 0.25 * pause + 0.2
        assert len(ledger.due(FAR)) == 1


def test_a_failed_send_is_no_send(ledger, clock):
    plan = plan_parts([1, 2])
    ledger.submit(plan)
    keys = [key for key, _, _ in ledger.due(FAR)]
    ledger.unsent(keys)
    assert ledger.due(FAR) == []
    clock.time += RESEND_S[0]
    assert [key for key, _, _ in ledger.due(FAR)] == keys
    clock.time += 1.25 * RESEND_S[0] + 0.1  # the first real send: the first interval
    assert [key for key, _, _ in ledger.due(FAR)] == keys


def test_the_last_request_for_a_name_has_it(ledger, engine):
    publications = Publications(engine)
    one, other = plan_parts([1]), plan_parts([2])
    target = {"name": "favorite"}
    ledger.submit(one, target=target)
    assert publications.pending() == []
    finish(ledger, one)
    (held_up,) = publications.pending()
    assert (held_up.job_id, held_up.target) == (one.id, target)
    assert not ledger.job(one.id).finished
    ledger.submit(other, target=target)
    finish(ledger, other)
    publications.close(held_up)  # by a worker that began before the second request
    (newest,) = publications.pending()
    assert newest.job_id == other.id
    publications.close(newest)
    assert publications.pending() == []
    assert ledger.job(other.id).finished
    ledger.submit(one, target=target)
    assert [publication.job_id for publication in publications.pending()] == [one.id]


def test_a_name_that_cannot_be_given_shows_in_the_job(ledger, engine):
    publications, plan = Publications(engine), plan_parts([1])
    ledger.submit(plan, target={"name": "x"})
    finish(ledger, plan)
    publications.close(publications.pending()[0], error="the ontology is gone")
    job = ledger.job(plan.id)
    assert (job.state, job.error, job.finished) == (State.DONE, "the ontology is gone", True)


def test_jobs_are_found_by_the_beginning_of_their_id(ledger, clock):
    plans = [plan_parts([n]) for n in range(20)]
    for plan in plans:
        clock.time += 1
        ledger.submit(plan)
    assert ledger.job(plans[3].id[:12]).id == plans[3].id
    assert [job.id for job in ledger.jobs(limit=2)] == [plans[19].id, plans[18].id]
    begun = {plan.id[0] for plan in plans if sum(other.id[0] == plan.id[0] for other in plans) > 1}.pop()
    with pytest.raises(NotFoundError, match=f"several jobs begin with '{begun}'"):
        ledger.job(begun)
    with pytest.raises(NotFoundError, match="there is no job ''"):
        ledger.job("")
    with pytest.raises(NotFoundError, match="there is no job 'xyz'"):
        ledger.job("xyz")
    with pytest.raises(NotFoundError):
        ledger.cancel("f" * 64)
    assert ledger.unit("f" * 64) is None
    assert ledger.claim("f" * 64, lease_s=1) is None


def test_time_is_the_servers(engine, monkeypatch):
    ledger = Ledger(engine)
    plan = plan_parts([1])
    ledger.submit(plan)
    monkeypatch.setattr("time.time", lambda: 0.0)  # a worker whose clock stands still
    assert ledger.claim(keys_of(plan)[0], lease_s=LEASE_S) is not None
    assert ledger.unit(keys_of(plan)[0]).lease_until > 1_700_000_000
    assert ledger.expire() == 0


@pytest.mark.parametrize("spec_json", ['{"x": 1}', "[]", '{"parameters": 5}'])
def test_a_job_in_the_shape_of_a_newer_version_is_listed(ledger, engine, spec_json):
    plan = dataclasses.replace(plan_parts([1]), kind="martian", version=99, spec_json=spec_json)
    ledger.submit(plan)
    (job,) = ledger.jobs()
    assert (job.kind, job.version, job.parameters) == ("martian", 99, {})
