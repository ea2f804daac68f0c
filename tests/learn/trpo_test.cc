#include "learn/agents/trpo.h"

#include <torch/nn.h>

#include <cmath>

#include "learn/agents/agent.h"
#include "tests/learn/torch_catch.h"
#include "tests/passorder/toy_environments.h"

using namespace hone;
using namespace hone::learn;

TEST_CASE("the mean KL of two policies by hand") {
  const torch::Tensor p = torch::log(torch::tensor({{0.5f, 0.5f}, {0.25f, 0.75f}}));
  const torch::Tensor q = torch::log(torch::tensor({{0.25f, 0.75f}, {0.25f, 0.75f}}));
  const double first = 0.5 * std::log(0.5 / 0.25) + 0.5 * std::log(0.5 / 0.75);
  CHECK(mean_kl(p, q).item<double>() == Approx(first / 2).epsilon(1e-5));
  CHECK(mean_kl(p, p).item<double>() == Approx(0).margin(1e-7));
}

TEST_CASE("the Fisher-vector product of a softmax over free logits") {
  // With logits as the parameters the Fisher matrix of one row is diag(p) - p p'.
  const torch::Tensor logits = torch::tensor({{0.3f, -0.5f, 1.1f}}, torch::requires_grad());
  const torch::Tensor log_p = torch::log_softmax(logits, 1);
  const FisherProduct fisher(mean_kl(log_p.detach(), log_p), {logits}, 0);
  const torch::Tensor p = log_p.detach().exp()[0];
  const torch::Tensor matrix = torch::diag(p) - torch::outer(p, p);
  for (const auto& v : {torch::tensor({1.0f, 0.0f, 0.0f}), torch::tensor({0.4f, -2.0f, 0.7f})})
    CHECK(torch::allclose(fisher(v), matrix.mv(v), 1e-4, 1e-6));
  // Adding the same value to all logits changes no probability: only damping remains.
  const FisherProduct damped(mean_kl(log_p.detach(), log_p), {logits}, 0.1);
  CHECK(torch::allclose(damped(torch::ones({3})), torch::full({3}, 0.1), 1e-4, 1e-6));
}

TEST_CASE("the Fisher-vector product of a linear policy is the mean over observations") {
  // logits = W x: the Fisher matrix is the mean over rows of (diag(p) - p p') (x) (x x').
  const torch::Tensor x = torch::tensor({{1.0f, 2.0f}, {-0.5f, 0.25f}});
  const torch::Tensor w = torch::tensor({{0.1f, -0.2f}, {0.4f, 0.3f}, {-0.6f, 0.5f}}, torch::requires_grad());
  const torch::Tensor log_p = torch::log_softmax(x.mm(w.t()), 1);
  const FisherProduct fisher(mean_kl(log_p.detach(), log_p), {w}, 0);
  const torch::Tensor v = torch::tensor({{0.5f, 1.0f}, {-1.0f, 0.2f}, {0.3f, 0.7f}});
  torch::Tensor expected = torch::zeros({3, 2});
  for (int64_t row = 0; row < 2; ++row) {
    const torch::Tensor p = log_p.detach()[row].exp(), along = v.mv(x[row]);  // change of the logits
    expected += torch::outer((torch::diag(p) - torch::outer(p, p)).mv(along), x[row]) / 2;
  }
  CHECK(torch::allclose(fisher(v.reshape({-1})), expected.reshape({-1}), 1e-4, 1e-6));
}

TEST_CASE("conjugate gradients solve a system by hand") {
  // [[4, 1], [1, 3]] x = [1, 2]: x = [1/11, 7/11], in two steps.
  const torch::Tensor a = torch::tensor({{4.0f, 1.0f}, {1.0f, 3.0f}}), b = torch::tensor({1.0f, 2.0f});
  const torch::Tensor x = conjugate_gradient([&](const torch::Tensor& v) { return a.mv(v); }, b, 2);
  CHECK(x[0].item<double>() == Approx(1.0 / 11).epsilon(1e-5));
  CHECK(x[1].item<double>() == Approx(7.0 / 11).epsilon(1e-5));
  // One step is steepest descent with the best length: |b|^2 / b'Ab = 5 / 20.
  const torch::Tensor one = conjugate_gradient([&](const torch::Tensor& v) { return a.mv(v); }, b, 1);
  CHECK(torch::allclose(one, b * 0.25));
  const torch::Tensor none = conjugate_gradient([&](const torch::Tensor& v) { return a.mv(v); }, torch::zeros({2}), 5);
  CHECK(none.abs().sum().item<double>() == 0);
}

TEST_CASE("the longest step uses up the KL of the quadratic model") {
  const torch::Tensor d = torch::tensor({3.0f, 4.0f}), fisher_d = 2 * d;  // d'Fd = 50
  const double length = longest_step(d, fisher_d, 0.01);
  CHECK(length == Approx(std::sqrt(0.02 / 50)));
  CHECK(0.5 * length * length * 50 == Approx(0.01));
  CHECK(longest_step(torch::zeros({2}), torch::zeros({2}), 0.01) == 0);
}

TEST_CASE("the line search takes the first step with a better objective and a small enough KL") {
  torch::Tensor x = torch::zeros({1});
  const auto at = [&] { return x.item<double>(); };
  // Objective x, KL x^2: of 1, 0.5, 0.25 the last is the first with a KL of at most 0.1.
  const auto measure = [&] { return Trial{at(), at() * at()}; };
  LineSearchResult found = line_search({x}, torch::ones({1}), 0, 0.1, 0.5, 10, measure);
  CHECK(found.accepted);
  CHECK(found.tries == 3);
  CHECK(at() == 0.25);
  CHECK(found.trial.kl == 0.0625);
  // Objective -x: no step is better, and the parameters are as before.
  found = line_search({x}, torch::ones({1}), -0.25, 10, 0.5, 4, [&] { return Trial{-at(), 0}; });
  CHECK(!found.accepted);
  CHECK(found.tries == 4);
  CHECK(at() == 0.25);
  // A KL that is NaN is never accepted.
  found = line_search({x}, torch::ones({1}), 0, 1, 0.5, 2, [&] { return Trial{1, std::nan("")}; });
  CHECK(!found.accepted);
}

TEST_CASE("an update improves the objective within the trust region and changes nothing else of the model") {
  options::AgentOptions options = options::paper_options("trpo");
  options.layers = {16};
  options.environments = 4;
  options.rollout = 128;
  options.batch = 64;
  options.epochs = 2;
  passorder::VectorEnvironment environments(
      4, [](int64_t) { return std::make_unique<passorder::IdentityEnvironment>(); }, 5, false);
  Learner learner(options, environments.spec());
  Rng acting(1), learning(2);
  auto rollout = collect(environments, *learner.model, options, acting, [] { return false; });
  const Inputs inputs = learner.model->scale->forward(rollout->observations);
  const torch::Tensor before = learner.model->log_probabilities(inputs).detach();
  const torch::Tensor critic_before =
      flatten(learner.model->critic->parameters(), learner.model->critic->parameters()).detach().clone();
  const Scalars scalars = update_trpo(learner, *rollout, learning);
  const auto scalar = [&](const std::string& name) {
    for (const auto& [key, value] : scalars)
      if (key == "train/" + name) return value;
    FAIL("no scalar " << name);
    return 0.0;
  };
  const torch::Tensor after = learner.model->log_probabilities(inputs).detach();
  const double kl = mean_kl(before, after).item<double>();
  CHECK(scalar("step_accepted") == 1);
  CHECK(scalar("kl") == Approx(kl).epsilon(1e-4));
  CHECK(kl <= options.max_kl);
  CHECK(kl > options.max_kl / 10);  // and most of it is used
  CHECK(scalar("objective_gain") > 0);
  const torch::Tensor actions = rollout->actions.unsqueeze(1);
  const torch::Tensor ratio = (after.gather(1, actions) - before.gather(1, actions)).squeeze(1).exp();
  const torch::Tensor advantages = rollout->advantages;  // normalised by the update
  CHECK(((ratio - 1) * advantages).mean().item<double>() == Approx(scalar("objective_gain")).epsilon(1e-3));
  const torch::Tensor critic_after =
      flatten(learner.model->critic->parameters(), learner.model->critic->parameters()).detach();
  CHECK(!torch::equal(critic_before, critic_after));
}
